import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { splitStatements } from '../../platform/clickhouse/migrate.ts';
import type { EventRow } from '../../schemas/records.ts';
import { readyStack } from './stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');

export interface TestDatabase {
  /** CLICKHOUSE_DATABASE of a service that shall use it. */
  name: string;
  client: ClickHouseClient;
  insert: (table: string, values: Record<string, unknown>[]) => Promise<void>;
  /** Runs further files of the live schema. */
  migrate: (ddl: readonly string[]) => Promise<void>;
  close: () => Promise<void>;
}

/**
 * A database of its own on the stack's ClickHouse.
 * @param ddl files with the live schema
 * @param tables statements for tables that the test fills in place of views
 */
export async function openTestDatabase(
  name: string,
  { ddl, tables }: { ddl: readonly string[]; tables: readonly string[] },
): Promise<TestDatabase> {
  const options = {
    url: readyStack().clickhouse_url,
    request_timeout: 60_000,
    max_open_connections: 4,
  };
  const database = `${name}_${process.pid}_${Date.now().toString(36)}`;
  const server = createClient(options);
  await server.command({ query: `CREATE DATABASE ${database}` });
  const client = createClient({
    ...options,
    database,
    use_multipart_params_auto: true,
    clickhouse_settings: {
      date_time_input_format: 'best_effort',
      output_format_json_quote_64bit_integers: 0,
      async_insert: 0,
      max_threads: 2,
      // Fields that only profiles use are no columns of `events`.
      input_format_skip_unknown_fields: 1,
    },
  });
  const migrate = async (files: readonly string[]): Promise<void> => {
    for (const file of files)
      for (const query of splitStatements(readFileSync(join(CHECKOUT, file), 'utf8')))
        await client.command({ query });
  };
  await migrate(ddl);
  for (const query of tables) await client.command({ query });
  return {
    name: database,
    client,
    migrate,
    async insert(table, values) {
      if (values.length > 0) await client.insert({ table, values, format: 'JSONEachRow' });
    },
    async close() {
      await client.close();
      await server.command({ query: `DROP DATABASE ${database}` });
      await server.close();
    },
  };
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** A row of the log as ClickHouse reads it from JSON. */
export function eventColumns(event: EventRow): Record<string, unknown> {
  return {
    ...event,
    timestamp: isoTime(event.timestamp),
    received_at: isoTime(event.received_at),
  };
}

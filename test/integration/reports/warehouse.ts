import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { splitStatements } from '../../../platform/clickhouse/migrate.ts';
import type { PersonTraits } from '../../../management-api/reports/filter-predicate.ts';
import type { World } from '../../../management-api/reports/world.ts';
import { PROFILE_COLUMNS } from '../../../events/traits.ts';
import type { EventRow } from '../../../schemas/records.ts';

/**
 * A database of its own on the stack's ClickHouse, with the live schema of `events`: reports run
 * over it as they do over the real one.
 */
export interface Warehouse {
  client: ClickHouseClient;
  /** Loads worlds, each under the account of its position + 1. */
  load: (worlds: readonly World[]) => Promise<void>;
  close: () => Promise<void>;
}

const CHECKOUT = join(import.meta.dirname, '../../..');
/** The live tables that reports read. */
const DDL = [
  'projections/events/ddl/0001_events.sql',
  'projections/identities/ddl/0004_identities_flat.sql',
];
/**
 * Stands for the view `people` (reports.md, "People"), which is put together from profiles: here
 * its rows are given.
 */
const PEOPLE = `CREATE TABLE people (account_id UInt64, person String, traits Map(String, String), trait_numbers Map(String, Float64), ${PROFILE_COLUMNS.map((column) => `${column} String`).join(', ')}) ENGINE = MergeTree ORDER BY (account_id, person)`;

export async function openWarehouse(name: string): Promise<Warehouse> {
  const home = process.env['RAVAND_HOME'] ?? join(CHECKOUT, '.ravand');
  const ready = JSON.parse(readFileSync(join(home, 'run/ready.json'), 'utf8')) as {
    clickhouse_url: string;
  };
  const database = `${name}_${process.pid}_${Date.now().toString(36)}`;
  const options = { url: ready.clickhouse_url, request_timeout: 60_000, max_open_connections: 4 };
  const outside = createClient(options);
  await outside.command({ query: `CREATE DATABASE ${database}` });
  const client = createClient({
    ...options,
    database,
    use_multipart_params_auto: true,
    clickhouse_settings: {
      date_time_input_format: 'best_effort',
      output_format_json_quote_64bit_integers: 0,
      async_insert: 0,
      max_threads: 2,
      input_format_skip_unknown_fields: 1,
    },
  });
  const statements = DDL.flatMap((file) =>
    splitStatements(readFileSync(join(CHECKOUT, file), 'utf8')),
  );
  for (const query of [...statements, PEOPLE]) await client.command({ query });
  return {
    client,
    load: (worlds) => loadWorlds(client, worlds),
    close: async () => {
      await client.close();
      await outside.command({ query: `DROP DATABASE ${database}` });
      await outside.close();
    },
  };
}

async function loadWorlds(client: ClickHouseClient, worlds: readonly World[]): Promise<void> {
  const accounts = worlds.map((world, at) => ({ world, account_id: at + 1 }));
  const insert = (table: string, values: Record<string, unknown>[]): Promise<unknown> =>
    values.length === 0
      ? Promise.resolve()
      : client.insert({ table, values, format: 'JSONEachRow' });
  await insert(
    'events',
    accounts.flatMap(({ world, account_id }) =>
      world.events.map((event) => ({ ...storedColumns(event), account_id })),
    ),
  );
  await insert(
    'identities_flat',
    accounts.flatMap(({ world, account_id }) =>
      [...world.canonical].map(([name, canonical]) => ({ account_id, name, canonical })),
    ),
  );
  await insert(
    'people',
    accounts.flatMap(({ world, account_id }) =>
      [...world.people].map(([person, traits]) => ({ account_id, person, ...flat(traits) })),
    ),
  );
}

function flat({ traits, trait_numbers, columns }: PersonTraits): Record<string, unknown> {
  return { traits, trait_numbers, ...columns };
}

/**
 * The row as ClickHouse takes it: columns that it does not know, those that go to profiles only,
 * are skipped.
 */
function storedColumns(event: EventRow): Record<string, unknown> {
  return {
    ...event,
    timestamp: new Date(event.timestamp).toISOString(),
    received_at: new Date(event.received_at).toISOString(),
  };
}

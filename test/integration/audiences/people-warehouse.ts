import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { PROFILE_COLUMNS } from '../../../events/traits.ts';
import type { PersonRow } from '../../../management-api/audiences/testing/reference.ts';
import { splitStatements } from '../../../platform/clickhouse/migrate.ts';
import type { EventRow } from '../../../schemas/records.ts';

/** One account: its people by name, which names were joined to them, and all events. */
export interface Account {
  people: ReadonlyMap<string, PersonRow>;
  canonical: ReadonlyMap<string, string>;
  events: readonly EventRow[];
}

export interface PeopleWarehouse {
  client: ClickHouseClient;
  /** Loads accounts under the ids 1, 2, …, in place of what was there. */
  load: (accounts: readonly Account[]) => Promise<void>;
  close: () => Promise<void>;
}

const CHECKOUT = join(import.meta.dirname, '../../..');
/** The columns of the view `people` (reports.md, "People"), as a table that a test can fill. */
const TABLES = [
  'CREATE TABLE identities_flat (account_id UInt64, name String, canonical String) ENGINE = ReplacingMergeTree ORDER BY (account_id, name)',
  `CREATE TABLE people (account_id UInt64, person String, first_seen DateTime64(3, 'UTC'), last_seen DateTime64(3, 'UTC'), total_revenue Decimal(38, 3),
    order_count UInt64, last_order_at Nullable(DateTime64(3, 'UTC')), traits Map(String, String), trait_numbers Map(String, Float64),
    ${PROFILE_COLUMNS.map((column) => `${column} String`).join(', ')}) ENGINE = MergeTree ORDER BY (account_id, person)`,
];

/** A database of its own on the stack's ClickHouse, with the live schema of `events`. */
export async function openPeopleWarehouse(name: string): Promise<PeopleWarehouse> {
  const home = process.env['RAVAND_HOME'] ?? join(CHECKOUT, '.ravand');
  const ready = JSON.parse(readFileSync(join(home, 'run/ready.json'), 'utf8')) as {
    clickhouse_url: string;
  };
  const database = `${name}_${process.pid}_${Date.now().toString(36)}`;
  const outside = createClient({ url: ready.clickhouse_url });
  await outside.command({ query: `CREATE DATABASE ${database}` });
  const client = createClient({
    url: ready.clickhouse_url,
    database,
    clickhouse_settings: {
      date_time_input_format: 'best_effort',
      output_format_json_quote_64bit_integers: 0,
      async_insert: 0,
      max_threads: 2,
      input_format_skip_unknown_fields: 1,
    },
  });
  const ddl = splitStatements(
    readFileSync(join(CHECKOUT, 'projections/events/ddl/0001_events.sql'), 'utf8'),
  );
  for (const query of [...ddl, ...TABLES]) await client.command({ query });
  const insert = async (table: string, values: Record<string, unknown>[]) => {
    await client.command({ query: `TRUNCATE TABLE ${table}` });
    if (values.length > 0) await client.insert({ table, values, format: 'JSONEachRow' });
  };
  return {
    client,
    async load(accounts) {
      const all = accounts.map((account, at) => ({ ...account, account_id: at + 1 }));
      await insert(
        'events',
        all.flatMap(({ events, account_id }) =>
          events.map((event) => ({ ...eventColumns(event), account_id })),
        ),
      );
      await insert(
        'people',
        all.flatMap(({ people, account_id }) =>
          [...people].map(([person, row]) => ({ ...personColumns(row), account_id, person })),
        ),
      );
      await insert(
        'identities_flat',
        all.flatMap(({ canonical, account_id }) =>
          [...canonical].map(([one, to]) => ({ account_id, name: one, canonical: to })),
        ),
      );
    },
    async close() {
      await client.close();
      await outside.command({ query: `DROP DATABASE ${database}` });
      await outside.close();
    },
  };
}

const time = (ms: number) => new Date(ms).toISOString();

function eventColumns(event: EventRow): Record<string, unknown> {
  // What goes to profiles only is no column of the table and skipped by its reader.
  return { ...event, timestamp: time(event.timestamp), received_at: time(event.received_at) };
}

function personColumns({
  columns,
  first_seen,
  last_seen,
  last_order_at,
  ...row
}: PersonRow): Record<string, unknown> {
  return {
    ...row,
    ...columns,
    first_seen: time(first_seen),
    last_seen: time(last_seen),
    last_order_at: last_order_at === undefined ? null : time(last_order_at),
  };
}

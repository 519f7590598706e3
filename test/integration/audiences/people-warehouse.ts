import type { ClickHouseClient } from '@clickhouse/client';
import { PROFILE_COLUMNS } from '../../../events/traits.ts';
import type { PersonRow } from '../../../audiences/testing/model.ts';
import type { EventRow } from '../../../schemas/records.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { eventColumns, isoTime, openTestDatabase } from '../../support/test-database.ts';
import { eachShard } from '../../../platform/clickhouse/shards.ts';

/** One account: its people by canonical id, the merged distinct ids, and all events. */
export interface Account {
  people: ReadonlyMap<string, PersonRow>;
  canonical: ReadonlyMap<string, string>;
  events: readonly EventRow[];
  /** Distinct ids with a device, and whether it is active. */
  devices: readonly { name: string; active: boolean }[];
}

export interface PeopleWarehouse {
  client: ClickHouseClient;
  /** Replaces what is stored by these accounts, under the ids 1, 2, … */
  load: (accounts: readonly Account[]) => Promise<void>;
  close: () => Promise<void>;
}

/**
 * Tables in place of the views that audiences read (reports: People), so that tests can fill them.
 */
const TABLES = [
  `CREATE TABLE identities_flat (account_id UInt64, name String, canonical String)
    ENGINE = ReplacingMergeTree ORDER BY (account_id, name)`,
  `CREATE TABLE people (
    account_id UInt64, person String, first_seen DateTime64(3, 'UTC'),
    last_seen DateTime64(3, 'UTC'), total_revenue Decimal(38, 3), order_count UInt64,
    last_order_at Nullable(DateTime64(3, 'UTC')), traits Map(String, String),
    trait_numbers Map(String, Float64),
    ${PROFILE_COLUMNS.map((column) => `${column} String`).join(', ')}
  ) ENGINE = MergeTree ORDER BY (account_id, person)`,
];

/** A database of its own on the stack's ClickHouse, with the live schema of `events`. */
export async function openPeopleWarehouse(name: string): Promise<PeopleWarehouse> {
  const { client, insert, close } = await openTestDatabase(name, {
    ddl: [...EVENTS_DDL, 'projections/addresses/ddl/0050_addresses.sql'],
    tables: TABLES,
  });
  const replace = async (table: string, values: Record<string, unknown>[]) => {
    for (const shard of eachShard(client))
      await shard.command({ query: `TRUNCATE TABLE ${table}` });
    await insert(table, values);
  };
  return {
    client,
    async load(accounts) {
      const all = accounts.map((account, at) => ({ ...account, account_id: at + 1 }));
      await replace(
        'events',
        all.flatMap(({ events, account_id }) =>
          events.map((event) => ({ ...eventColumns(event), account_id })),
        ),
      );
      await replace(
        'addresses',
        all.flatMap(({ devices, account_id }) =>
          devices.map((device, at) => ({
            ...{ ...device, account_id, channel: 'push', address_id: `d${at}`, version: 1 },
          })),
        ),
      );
      await replace(
        'people',
        all.flatMap(({ people, account_id }) =>
          [...people].map(([person, row]) => ({ ...personColumns(row), account_id, person })),
        ),
      );
      await replace(
        'identities_flat',
        all.flatMap(({ canonical: merged, account_id }) =>
          [...merged].map(([distinctId, canonical]) => ({
            account_id,
            name: distinctId,
            canonical,
          })),
        ),
      );
    },
    close,
  };
}

function personColumns({ columns, ...row }: PersonRow): Record<string, unknown> {
  return {
    ...row,
    ...columns,
    first_seen: isoTime(row.first_seen),
    last_seen: isoTime(row.last_seen),
    last_order_at: row.last_order_at === undefined ? null : isoTime(row.last_order_at),
  };
}

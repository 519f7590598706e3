import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import type { ChannelAddress } from './channel-rows.ts';
import { eraseChannels } from './channels.ts';

const AT = 1000;
const SARA = { accountId: 1, names: ['sara'], at: AT };

let postgres: MigratedDatabase;
/** ClickHouse's addresses, by address: whose each is. */
let held: Map<string, string>;
let recorded: Set<string>;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0050', '0053', '0060']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('DELETE FROM channel_addresses');
  held = new Map();
  recorded = new Set();
  for (const [id, user, at] of [
    ['phone', 'sara', 10],
    ['later', 'sara', AT + 1],
    ['other', 'ali', 10],
  ] as const) {
    await postgres.database.query(
      `INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, received_at, gateway, sequence)
       VALUES (1, 'web', $1, 0, $2, '', $3, 'g', 1)`,
      [id, user, at],
    );
    held.set(id, user);
  }
});

class Killed extends Error {}

/** Runs the removal; the process is killed at its nth call of a store. */
async function erase(killAt = Number.POSITIVE_INFINITY): Promise<void> {
  let calls = 0;
  const step = <T>(work: () => T): Promise<T> => {
    if (++calls === killAt) return Promise.reject(new Killed());
    return Promise.resolve(work());
  };
  let listed: readonly ChannelAddress[] = [];
  const database = {
    query: (text: string, values: unknown[]) =>
      step(() => postgres.database.query(text, values)).then((answer) => answer),
  } as unknown as MigratedDatabase['database'];
  const clickhouse = {
    insert: ({ values }: { values: unknown }) =>
      step(() => {
        for (const { address_id, name } of values as { address_id: string; name: string }[])
          held.set(address_id, name);
        return { executed: true, query_id: '', response_headers: {} };
      }),
  };
  await eraseChannels(
    { database, clickhouse, settings: { CLICKHOUSE_CLUSTER: '' } },
    {
      person: SARA,
      record: (own) => step(() => own.forEach(({ address }) => recorded.add(address))),
      rows: {
        reachedByOthers: () => step(() => new Set<string>()),
        addressesWhere: (_, own) => step(() => ((listed = own), '')),
        tables: () => step(() => ['addresses']),
        delete: () =>
          step(() => {
            for (const [id, name] of held)
              if (name === 'sara' || listed.some(({ address }) => address === id)) held.delete(id);
            return 0;
          }),
      },
    },
  );
}

it.each(Array.from({ length: 12 }, (_, at) => at + 1))(
  'The erasure of channels is complete when it is repeated after a kill at call %i',
  async (killAt) => {
    await erase(killAt).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
    await erase();
    expect([...recorded]).toEqual(['phone']);
    const { rows } = await postgres.database.query<{ address_id: string }>(
      'SELECT address_id FROM channel_addresses ORDER BY address_id',
    );
    expect(rows.map(({ address_id }) => address_id)).toEqual(['later', 'other']);
    // What was registered after the erasure is of a new person, also in ClickHouse.
    expect(Object.fromEntries(held)).toEqual({ later: 'sara', other: 'ali' });
  },
);

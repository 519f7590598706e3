import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import { relayPayload } from '../../events/relays/payload.ts';
import { needleOf } from './needles.ts';
import { removeDeliveries } from './postgres-rows.ts';
import { searchPostgres } from './search-postgres.ts';
import type { Search } from './findings.ts';

const ACCOUNT = 7;
const EVENT = {
  ...{ event: 'a "b\\" c', user_id: '', anonymous_id: '', timestamp: 0 },
  ...{ properties: {}, property_numbers: {}, message_id: 'm' },
};
const PERSIAN = 'سارا \\"۱"\\u0000\0';
const CUTS = [{ partition: 0, epoch: 0, offset: 100 }];
let postgres: BooksDatabase;

beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
  await postgres.database.query("SET session_replication_role = 'replica'");
}, 120_000);
afterAll(() => postgres.close());

type Relayed = Parameters<typeof relayPayload>[0];

async function deliver(offset: number, of: Partial<Relayed>): Promise<void> {
  const event = { ...EVENT, ...of };
  await postgres.database.query(
    `INSERT INTO relay_deliveries (relay_id, account_id, epoch, partition, log_offset, log_index, message_id, event, payload, status)
     VALUES (1, ${ACCOUNT}, 0, 0, $1, 0, 'm', 'x', $2, 'dead')`,
    [offset, relayPayload(event)],
  );
}

const search = (names: readonly string[]) =>
  searchPostgres(postgres, {
    erasure: {
      ...{ id: 1, accountId: ACCOUNT, names },
      ...{ cuts: CUTS, requestedAt: 1000 },
    } as unknown as Search['erasure'],
    needles: names.map((name) => needleOf(name, true)),
    signal: new AbortController().signal,
  });

describe('PostgreSQL is searched', () => {
  it('for names with NUL, backslashes and quotes, beside payloads that hold NUL', async () => {
    const properties = { by: PERSIAN, nul: 'a\0b\0\0\\u0000' };
    await deliver(1, { user_id: PERSIAN, anonymous_id: 'a' });
    await deliver(2, { user_id: 'other', anonymous_id: PERSIAN, properties });
    await deliver(3, { anonymous_id: PERSIAN });
    await deliver(4, { user_id: `${PERSIAN}x` });
    await deliver(101, { user_id: PERSIAN });
    const { findings, mentions } = await search([PERSIAN]);
    expect(findings).toEqual([{ store: 'postgres', place: 'relay_deliveries', count: 2 }]);
    expect(mentions).toEqual([{ store: 'postgres', place: 'relay_deliveries', count: 1 }]);
    // Retention may have deleted their events: no position is known.
    const person = { accountId: ACCOUNT, names: [PERSIAN], cuts: CUTS };
    expect(await removeDeliveries(postgres.database, person, [])).toBe(2);
    expect((await search([PERSIAN])).findings).toEqual([]);
    const { rows } = await postgres.database.query('SELECT 1 FROM relay_deliveries');
    expect(rows).toHaveLength(3);
  });

  it('for what commands of channels left, but not for what a new person registered', async () => {
    const register = (id: string, [user, anonymous]: [string, string], at: number) =>
      postgres.database.query(
        `INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, received_at, gateway, sequence)
         VALUES (${ACCOUNT}, 'push', $1, 0, $2, $3, $4, 'g', 1)`,
        [id, user, anonymous, at],
      );
    await register('d1', ['sara', ''], 1000);
    await register('d2', ['', 'sara'], 1000);
    await register('d3', ['ali', 'sara'], 1000);
    await register('d4', ['sara', ''], 1001);
    const { findings, mentions } = await search(['sara']);
    expect(findings).toEqual([{ store: 'postgres', place: 'channel_addresses', count: 2 }]);
    expect(mentions).toEqual([{ store: 'postgres', place: 'channel_addresses', count: 1 }]);
  });
});

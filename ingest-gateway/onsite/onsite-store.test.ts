import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { connectOnsiteStore, type OnsiteStore } from './onsite-store.ts';
import { connectShownStore } from './shown-store.ts';

const KEY = 'ab'.repeat(32);

let postgres: MigratedDatabase;
let store: OnsiteStore;
const query = (sql: string, values: unknown[] = []) => postgres.database.query(sql, values);

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0052']);
  store = connectOnsiteStore(postgres.database);
  await query(`INSERT INTO accounts (id, name) VALUES (1, 'a')`);
}, 60_000);
beforeEach(async () => {
  await query(
    'TRUNCATE onsite_campaigns, onsite_audiences, onsite_audience_chunks RESTART IDENTITY',
  );
  await query('UPDATE onsite_revision SET revision = 0');
});
afterAll(() => postgres.close());

const addCampaign = (columns = 'name', values = `'n'`) =>
  query(
    `INSERT INTO onsite_campaigns (account_id, definition, ${columns}) VALUES (1, '{"kind":"popup"}', ${values})`,
  );
const revisions = (rows: readonly { revision: number }[]) => rows.map(({ revision }) => revision);

describe('changes of on-site campaigns', () => {
  it('have a revision each, in the order of their commits', async () => {
    await addCampaign();
    await addCampaign('name, starts_at, ends_at', `'m', to_timestamp(1), 'infinity'`);
    expect(await store.revision()).toBe(2);
    expect(await store.campaigns(0)).toMatchObject([
      {
        ...{ id: 1, accountId: 1, definition: { kind: 'popup' }, audience: undefined },
        ...{ startsAt: -Infinity, endsAt: Infinity, enabled: true, revision: 1 },
      },
      { id: 2, startsAt: 1000, revision: 2 },
    ]);
    await query('UPDATE onsite_campaigns SET enabled = false WHERE id = 1');
    expect(await store.campaigns(2)).toMatchObject([{ id: 1, enabled: false, revision: 3 }]);
  });

  it('are read from the beginning without campaigns that ended more than a day ago', async () => {
    await addCampaign('name, ends_at', `'long ago', now() - interval '25 hours'`);
    await addCampaign('name, ends_at', `'today', now() - interval '23 hours'`);
    await addCampaign(
      'name, enabled, updated_at',
      `'disabled', false, now() - interval '25 hours'`,
    );
    expect(revisions(await store.campaigns(0))).toEqual([2]);
    expect(revisions(await store.campaigns(1))).toEqual([2, 3]);
  });

  it('have those of audiences among them: a chunk when it is written, a layout when it changes', async () => {
    await query(
      `INSERT INTO onsite_audiences (account_id, audience, definition) VALUES (1, $1, '{}')`,
      [KEY],
    );
    expect(await store.layouts(0)).toEqual([
      { accountId: 1, audience: KEY, bits: undefined, revision: 1 },
    ]);
    await query('UPDATE onsite_audiences SET bits = NULL, names = 5, computed_at = now()');
    expect(await store.revision()).toBe(1);
    await query(
      `INSERT INTO onsite_audience_chunks (account_id, audience, bits, chunk, names, digest) VALUES (1, $1, 0, 0, $2, $2)`,
      [KEY, Buffer.from('0102030405060708', 'hex')],
    );
    expect(await store.chunks(0)).toEqual([
      {
        ...{ accountId: 1, audience: KEY, bits: 0, chunk: 0, revision: 2 },
        names: Buffer.from('0102030405060708', 'hex'),
      },
    ]);
    await query('UPDATE onsite_audiences SET bits = 0');
    expect(await store.layouts(2)).toEqual([{ accountId: 1, audience: KEY, bits: 0, revision: 3 }]);
  });
});

describe('who has seen a campaign', () => {
  const hashes = ['00'.repeat(8), 'ff'.repeat(8)] as const;
  const showing = (campaignId: number, at: number, hash: string = hashes[0]) => ({
    ...{ accountId: 1, hash, campaignId, at },
  });

  it('is stored with the last time', async () => {
    const shown = connectShownStore(postgres.database);
    await shown.add([showing(1, 5000), showing(1, 4000), showing(2, 6000)]);
    await shown.add([showing(1, 4500), showing(2, 7000), showing(3, 1, hashes[1])]);
    expect(await shown.of([`1 ${hashes[0]}`, `1 ${hashes[1]}`, `2 ${hashes[0]}`])).toEqual(
      new Map([
        [
          `1 ${hashes[0]}`,
          new Map([
            [1, 5000],
            [2, 7000],
          ]),
        ],
        [`1 ${hashes[1]}`, new Map([[3, 1]])],
        [`2 ${hashes[0]}`, new Map()],
      ]),
    );
    const { rows } = await query('SELECT account_id::int, rows::int FROM onsite_shown_counts');
    expect(rows).toEqual([{ account_id: 1, rows: 3 }]);
  });

  it('has a bound for each account', async () => {
    const shown = connectShownStore(postgres.database, { maxRows: 3 });
    await shown.add([showing(9, 1), { ...showing(9, 1), accountId: 2 }]);
    expect((await shown.of([`1 ${hashes[0]}`])).get(`1 ${hashes[0]}`)?.has(9)).toBe(false);
    expect((await shown.of([`2 ${hashes[0]}`])).get(`2 ${hashes[0]}`)?.has(9)).toBe(true);
  });
});

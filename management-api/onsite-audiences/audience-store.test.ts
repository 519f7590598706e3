import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { AudienceStore, type ClaimedAudience } from './audience-store.ts';
import { sweepShown } from './sweep-shown.ts';

const [A, B, C] = ['aa', 'bb', 'cc'].map((pair) => pair.repeat(32)) as [string, string, string];
const NOW = Date.UTC(2026, 10, 22);

let postgres: MigratedDatabase;
let store: AudienceStore;
const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await postgres.database.query<Row>(sql, values)).rows;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0052']);
  store = new AudienceStore(postgres.database);
  await query(`INSERT INTO accounts (id, name) SELECT n, 'a' FROM generate_series(1, 3) AS g (n)`);
}, 60_000);
beforeEach(async () => {
  await query(
    'TRUNCATE onsite_campaigns, onsite_audiences, onsite_audience_chunks, onsite_shown, onsite_shown_counts RESTART IDENTITY',
  );
});
afterAll(() => postgres.close());

async function campaign(account: number, key: string | null, columns: object = {}): Promise<void> {
  const row = {
    ...{ account_id: account, name: 'n', definition: { frequency: 'once' } },
    ...{ audience: key === null ? null : { trait: key }, audience_key: key, ...columns },
  };
  const names = Object.keys(row);
  await query(
    `INSERT INTO onsite_campaigns (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
    Object.values(row),
  );
}
const claim = async (): Promise<ClaimedAudience> => {
  const claimed = await store.claim();
  if (!claimed) throw new Error('nothing is due');
  return claimed;
};
const audiences = async () =>
  (
    await query<{ audience: string }>('SELECT audience FROM onsite_audiences ORDER BY audience')
  ).map(({ audience }) => audience);
const chunk = (bits: number, at = 0, names = Buffer.alloc(8)) => ({
  ...{ bits, chunk: at, names, digest: 'ff'.repeat(32) },
});

describe('the audiences of on-site campaigns', () => {
  it('are those of live campaigns, each once', async () => {
    await campaign(1, A);
    await campaign(1, A);
    await campaign(1, null);
    await campaign(1, B, { enabled: false });
    await campaign(1, C, { ends_at: new Date(Date.now() - 1000) });
    await store.synchronise();
    expect(await audiences()).toEqual([A]);
    await campaign(1, B, { starts_at: new Date(Date.now() + 60_000) });
    await campaign(1, C, { starts_at: new Date(Date.now() + 3_600_000) });
    await store.synchronise();
    expect(await audiences()).toEqual([A, B]);
    await query('UPDATE onsite_campaigns SET enabled = false WHERE audience_key = $1', [A]);
    await store.synchronise();
    expect(await audiences()).toEqual([B]);
  });

  it('may be there while a campaign is enabled, and as long as one is stored', async () => {
    expect(await store.synchronise()).toBe(false);
    await campaign(1, null);
    expect(await store.synchronise()).toBe(false);
    await campaign(1, A);
    expect(await store.synchronise()).toBe(true);
    await query('UPDATE onsite_campaigns SET enabled = false');
    expect(await store.synchronise()).toBe(true);
    expect(await audiences()).toEqual([]);
    expect(await store.synchronise()).toBe(false);
  });

  it('are claimed by one worker, and again half a minute after they were computed', async () => {
    await campaign(1, A);
    await store.synchronise();
    const claimed = await claim();
    expect(claimed).toMatchObject({
      ...{ accountId: 1, audience: A, definition: { trait: A }, bits: undefined, otherNames: 0 },
    });
    expect(await store.claim()).toBeUndefined();
    await store.finish(claimed, { bits: 2, names: 9, computedAt: Date.now(), error: '' });
    expect(await store.claim()).toBeUndefined();
    await query(`UPDATE onsite_audiences SET computed_at = now() - interval '31 seconds'`);
    expect(await claim()).toMatchObject({ audience: A, bits: 2, otherNames: 0 });
  });

  it('take turns by account', async () => {
    for (const key of [A, B, C]) await campaign(1, key);
    await campaign(2, A);
    await store.synchronise();
    const accounts: number[] = [];
    for (let turn = 0; turn < 4; turn++) accounts.push((await claim()).accountId);
    expect(accounts).toEqual([1, 2, 1, 1]);
  });

  it('are not claimed of accounts that are excluded', async () => {
    for (const account of [1, 2]) await campaign(account, A);
    await store.synchronise();
    expect(await store.claim([1])).toMatchObject({ accountId: 2 });
    expect(await store.claim([1])).toBeUndefined();
    expect(await store.claim([])).toMatchObject({ accountId: 1 });
  });

  it('say how many names the others of the account have', async () => {
    await campaign(1, A);
    await store.synchronise();
    await store.finish(await claim(), { bits: 0, names: 70, computedAt: NOW, error: '' });
    await campaign(1, B);
    await store.synchronise();
    expect((await claim()).otherNames).toBe(70);
  });

  it('of a worker that ended are claimed by another, and the late one changes nothing', async () => {
    await campaign(1, A);
    await store.synchronise();
    const late = await claim();
    await query(`UPDATE onsite_audiences SET leased_until = now() - interval '1 second'`);
    const next = await claim();
    await store.writeChunk(next, chunk(1));
    expect(await store.finish(next, { bits: 1, names: 1, computedAt: NOW, error: '' })).toBe(true);
    await store.writeChunk(late, chunk(0));
    expect(await store.finish(late, { bits: 0, names: 1, computedAt: NOW, error: '' })).toBe(false);
    const rows = await query('SELECT bits, attempt FROM onsite_audiences');
    expect(rows).toEqual([{ bits: 1, attempt: expect.anything() as unknown }]);
  });

  it('that are given back are due again after some time', async () => {
    await campaign(1, A);
    await store.synchronise();
    await store.release(await claim(), 60);
    expect(await store.claim()).toBeUndefined();
    await query('UPDATE onsite_audiences SET leased_until = NULL');
    await store.release(await claim(), 0);
    expect(await store.claim()).toBeDefined();
  });

  it('have the chunks of their layout, which change their revision when they are written', async () => {
    await campaign(1, A);
    await store.synchronise();
    const claimed = await claim();
    await store.writeChunk(claimed, chunk(0));
    await store.finish(claimed, { bits: 0, names: 1, computedAt: NOW, error: '' });
    expect(await store.digests(claimed, 0)).toEqual(new Map([[0, 'ff'.repeat(32)]]));
    expect(await store.digests(claimed, 1)).toEqual(new Map());
    await store.writeChunk(claimed, chunk(0, 0, Buffer.alloc(16)));
    await store.writeChunk(claimed, chunk(1, 1));
    await store.finish(claimed, { bits: 1, names: 1, computedAt: NOW, error: '' });
    expect(await query('SELECT bits, chunk FROM onsite_audience_chunks')).toEqual([
      { bits: 1, chunk: 1 },
    ]);
    await query('UPDATE onsite_campaigns SET enabled = false');
    await store.synchronise();
    await store.writeChunk(claimed, chunk(1));
    expect(await query('SELECT 1 FROM onsite_audience_chunks')).toEqual([]);
  });

  it('have an age, counted from their first claim until they are computed', async () => {
    expect(await store.oldestAge()).toBe(0);
    await campaign(1, A);
    await store.synchronise();
    const claimed = await claim();
    await store.finish(claimed, { bits: 0, names: 1, computedAt: Date.now() - 50_000, error: '' });
    expect(Math.round((await store.oldestAge()) / 10)).toBe(5);
  });
});

describe('who has seen campaigns', () => {
  it('is removed when the campaign or the session is over', async () => {
    await campaign(1, null, { ends_at: new Date(Date.now() - 1000) });
    await campaign(1, null, { enabled: false });
    await campaign(1, null, { definition: { frequency: 'session' } });
    await campaign(1, null);
    await query(
      `INSERT INTO onsite_shown (account_id, visitor, campaign_id, shown_at)
       SELECT 1, decode(v, 'hex'), c, now() - interval '1 hour' FROM generate_series(1, 4) AS c, unnest(ARRAY['00', '01']) AS v`,
    );
    await query(`UPDATE onsite_shown SET shown_at = now() WHERE visitor = decode('01', 'hex')`);
    await query('INSERT INTO onsite_shown_counts VALUES (1, 8)');
    expect(await sweepShown(postgres.database)).toBe(5);
    expect(
      await query(
        `SELECT campaign_id::int AS id, count(*)::int AS rows FROM onsite_shown GROUP BY 1 ORDER BY 1`,
      ),
    ).toEqual([
      { id: 3, rows: 1 },
      { id: 4, rows: 2 },
    ]);
    expect(await query('SELECT rows::int FROM onsite_shown_counts')).toEqual([{ rows: 3 }]);
    expect(await sweepShown(postgres.database)).toBe(0);
  });
});

import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { createOnsiteCampaign, onsiteEnd, readCampaign } from './onsite.ts';
import { parseInput } from './read-input.ts';

const SENT = { name: 'یلدا', kind: 'popup', content: { text: 'سلام' }, frequency: 'once' };

let postgres: MigratedDatabase;
const rows = async (sql: string) => (await postgres.database.query<object>(sql)).rows;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0052']);
  await rows(`INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')`);
}, 60_000);
afterAll(() => postgres.close());

const create = (change: object = {}, accountId = 1) =>
  createOnsiteCampaign(postgres.database, {
    ...{ accountId, campaign: readCampaign({ ...SENT, ...change }) },
  });
const end = (account: string, id: string) =>
  onsiteEnd.run(
    { values: { account, id }, words: [] },
    { database: postgres.database as never, kafka: {} as never, env: {} },
  );

describe('admin onsite create', () => {
  it('stores what was sent, with an audit line', async () => {
    const id = await create({ starts_at: '2026-12-20T00:00:00Z', ends_at: null });
    expect(await rows('SELECT * FROM onsite_campaigns')).toMatchObject([
      {
        ...{ name: 'یلدا', audience: null, audience_key: null, enabled: true, ends_at: null },
        starts_at: new Date(Date.UTC(2026, 11, 20)),
        definition: {
          ...{ kind: 'popup', content: { text: 'سلام' }, fields: [], url: [], frequency: 'once' },
        },
      },
    ]);
    expect(await rows('SELECT actor, action, details FROM audit_lines')).toEqual([
      {
        ...{ actor: 'operator', action: 'onsite_campaign.created' },
        details: { campaign_id: id, kind: 'popup', name: 'یلدا' },
      },
    ]);
  });

  it('gives campaigns with the same audience the same key, however it was written', async () => {
    const audience = { attribute: 'city', op: 'eq', value: 'تهران' };
    const ids = [
      await create({ targeting: { audience } }),
      await create({ targeting: { audience: { ...audience, note: 'ignored' } } }),
      await create({ targeting: { audience: { ...audience, value: 'قم' } } }),
    ];
    const found = await rows(
      `SELECT audience, audience_key FROM onsite_campaigns WHERE id IN (${ids.join(', ')}) ORDER BY id`,
    );
    const keys = (found as { audience_key: string }[]).map((row) => row.audience_key);
    expect(found[0]).toMatchObject({ audience });
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect([keys[1] === keys[0], keys[2] === keys[0]]).toEqual([true, false]);
  });

  it('refuses a definition with a text that says what is wrong', () => {
    expect(() => readCampaign({ ...SENT, kind: 'x' })).toThrow('kind is not one of popup');
    expect(() => readCampaign({ ...SENT, targeting: { audience: {} } })).toThrow(
      'targeting.audience: segment: expected exactly one of all, any, not',
    );
  });

  it('refuses more than an account may have', async () => {
    await rows(
      `INSERT INTO onsite_campaigns (account_id, name, definition, ends_at)
       SELECT 2, 'n', '{}', CASE WHEN n = 1 THEN now() - interval '1 hour' END FROM generate_series(1, 1000) AS g (n)`,
    );
    await create({}, 2);
    await expect(create({}, 2)).rejects.toThrow(
      'an account has at most 1000 live on-site campaigns',
    );
    await create({}, 1);
  });
});

describe('admin onsite end', () => {
  it('ends a campaign of the account, with an audit line', async () => {
    const id = String(await create());
    await expect(end('2', id)).rejects.toThrow(`the account 2 has no on-site campaign ${id}`);
    expect(await end('1', id)).toEqual({ campaign_id: Number(id), enabled: false });
    expect(await rows('SELECT action FROM audit_lines ORDER BY id DESC LIMIT 1')).toEqual([
      { action: 'onsite_campaign.ended' },
    ]);
  });
});

describe('a definition on standard input', () => {
  it('is read as JSON, within a bound', async () => {
    expect(await parseInput(Readable.from([Buffer.from('{"a":'), Buffer.from('1}')]))).toEqual({
      a: 1,
    });
    await expect(parseInput(Readable.from([Buffer.from('{')]))).rejects.toThrow(
      'the definition is not JSON',
    );
    const large = Readable.from(Array.from({ length: 17 }, () => Buffer.alloc(64 * 1024)));
    await expect(parseInput(large)).rejects.toThrow('larger than 1048576 bytes');
  });
});

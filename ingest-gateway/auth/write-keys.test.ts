import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { Accounts } from './accounts.ts';
import type { AccountRow, AccountStore, KeyRow } from './account-store.ts';
import { presentedKey, WriteKeys, type Verification } from './write-keys.ts';

const account: AccountRow = { id: 7, retentionDays: 90, subscription: 'active', maxEvents: 0 };
const row: KeyRow = { writeKeyId: 3, appId: 2, account };
const principal = { accountId: 7, appId: 2, writeKeyId: 3 };

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

let now: number;
let queries: string[][];
let stored: Map<string, KeyRow>;
let isDown: boolean;

const store: AccountStore = {
  keys: async (hashes) => {
    queries.push([...hashes]);
    await Promise.resolve();
    if (isDown) throw new Error('down');
    return new Map(
      hashes.flatMap((hash) =>
        stored.has(hash) ? [[hash, stored.get(hash)] as [string, KeyRow]] : [],
      ),
    );
  },
  accounts: async () => Promise.reject(new Error('not read here')),
};

let keys: WriteKeys;

beforeEach(() => {
  now = 1000;
  queries = [];
  stored = new Map([[hashOf('good'), row]]);
  isDown = false;
  const accounts = new Accounts({
    store,
    eventsThisMonth: () => Promise.resolve(0),
    now: () => now,
  });
  keys = new WriteKeys({ store, accounts, cacheFor: 60_000, now: () => now });
});

describe('write keys', () => {
  it('are cached for a minute, valid and invalid ones alike', async () => {
    expect(await keys.verify('good')).toEqual(principal);
    expect(await keys.verify('bad')).toBe('invalid');
    stored = new Map([[hashOf('bad'), row]]);
    now += 59_999;
    expect(keys.verify('good')).toEqual(principal);
    expect(keys.verify('bad')).toBe('invalid');
    now += 1;
    expect(await keys.verify('good')).toBe('invalid');
    expect(await keys.verify('bad')).toEqual(principal);
    expect(queries.length).toBe(4);
  });

  it('are looked up once, in one query, for concurrent requests', async () => {
    const answers: Verification[] = await Promise.all(
      ['good', 'a', 'good', 'b', 'a', 'c'].map(async (key) => keys.verify(key)),
    );
    expect(answers).toEqual([principal, 'invalid', principal, 'invalid', 'invalid', 'invalid']);
    expect(queries).toEqual([[hashOf('good')], ['a', 'b', 'c'].map(hashOf)]);
  });

  it('are unverified while the store is unreachable, which is queried again after 5 s', async () => {
    isDown = true;
    expect(await Promise.all(['good', 'a'].map(async (key) => keys.verify(key)))).toEqual([
      'unverified',
      'unverified',
    ]);
    expect(queries.length).toBe(1);
    isDown = false;
    now += 4999;
    expect(keys.verify('good')).toBe('unverified');
    expect(queries.length).toBe(1);
    now += 1;
    expect(await keys.verify('good')).toEqual(principal);
  });

  it('are accepted from the cache for a minute while the store is unreachable', async () => {
    await keys.verify('good');
    isDown = true;
    await keys.verify('other');
    now += 59_999;
    expect(keys.verify('good')).toEqual(principal);
    now += 1;
    expect(await keys.verify('good')).toBe('unverified');
  });

  it('of any length need bounded memory', async () => {
    expect(await keys.verify('x'.repeat(10_000))).toBe('invalid');
    expect(keys.verify('x'.repeat(10_000))).toBe('invalid');
    expect(queries.length).toBe(1);
  });
});

describe('the write key of a request', () => {
  it.each([
    [
      'Authorization first',
      { authorization: 'Bearer a', 'x-service-key': 'b' },
      'write_key=c',
      'a',
    ],
    ['then X-Service-Key', { 'x-service-key': 'b' }, 'write_key=c', 'b'],
    ['then the query', {}, 'x=1&write_key=c', 'c'],
    ['another scheme falls through', { authorization: 'Basic a', 'x-service-key': 'b' }, '', 'b'],
    ['a lower-case scheme falls through', { authorization: 'bearer a' }, 'write_key=c', 'c'],
    ['one space is stripped, no more', { authorization: 'Bearer  a' }, '', ' a'],
    [
      'without a key behind it the scheme falls through',
      { authorization: 'Bearer ' },
      'write_key=c',
      'c',
    ],
    ['an empty header falls through', { 'x-service-key': '' }, 'write_key=c', 'c'],
    ['the query is decoded', {}, 'write_key=wk%5Fsvc_a', 'wk_svc_a'],
    ['nowhere', {}, '', undefined],
    ['an empty parameter', {}, 'write_key=', undefined],
    ['a query that cannot be decoded', {}, 'write_key=%zz', '%zz'],
  ])('is read from its places in their order: %s', (_, headers, query, expected) =>
    expect(presentedKey(headers, query)).toBe(expected),
  );
});

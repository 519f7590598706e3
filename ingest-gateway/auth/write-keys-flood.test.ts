import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it } from 'vitest';
import type { KeyRow } from './account-store.ts';
import { WriteKeys, type Verification } from './write-keys.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const UNKNOWN_KEYS = 100_000;
const HEAD_BYTES = 8192;
const ROW: KeyRow = {
  ...{ writeKeyId: 3, appId: 2 },
  account: { id: 7, retentionDays: 90, subscription: 'active', maxEvents: 0 },
};
const principal = { accountId: 7, appId: 2, writeKeyId: 3 };
const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');

let now: number;
/** Sizes of the queries, in order; each is answered at once unless `held` holds it. */
let queries: string[][];
let held: Promise<void>;
let keys: WriteKeys;

beforeEach(() => {
  now = 1000;
  queries = [];
  held = Promise.resolve();
  keys = openKeys(100_000);
});

function openKeys(capacity: number): WriteKeys {
  return new WriteKeys({
    store: {
      keys: async (hashes) => {
        queries.push([...hashes]);
        await held;
        return new Map(hashes.includes(hashOf('good')) ? [[hashOf('good'), ROW]] : []);
      },
    },
    accounts: { learn: () => undefined },
    cacheFor: 60_000,
    capacity,
    now: () => now,
  });
}

const HEAD = Buffer.alloc(HEAD_BYTES, ' ');

/** A key as it is presented: a part of a long text, like the head or the URL of a request. */
function presented(name: string): string {
  HEAD.write(name);
  return HEAD.toString('latin1').slice(0, name.length);
}

async function sendUnknownKeys(from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 500)
    await Promise.all(
      Array.from({ length: 500 }, async (_, index) =>
        keys.verify(presented(`wk_svc_unknown_${at + index}`)),
      ),
    );
}

describe('a flood of unknown write keys', () => {
  it('does not retain the texts in which the keys arrived', async () => {
    await keys.verify('good');
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    await sendUnknownKeys(0, UNKNOWN_KEYS);
    collectGarbage();
    const retained = process.memoryUsage().heapUsed - before;
    expect(retained / UNKNOWN_KEYS).toBeLessThan(300);
  }, 60_000);

  it('does not evict a key that is known to be good', async () => {
    keys = openKeys(1000);
    await keys.verify('good');
    await sendUnknownKeys(0, 10_000);
    expect(keys.verify('good')).toEqual(principal);
    expect(keys.size).toBeLessThanOrEqual(1001);
  });

  it('is forgotten in time', async () => {
    await keys.verify('good');
    await sendUnknownKeys(0, 5000);
    expect(keys.size).toBe(5001);
    now += 60_000;
    await keys.verify('good');
    now += 60_000;
    await keys.verify('good');
    expect(keys.size).toBe(1);
  });

  it('does not delay the look-up of a key that was good before, nor fails it', async () => {
    await keys.verify('good');
    now += 60_000;
    let release: () => void = () => undefined;
    held = new Promise((resolve) => (release = resolve));
    const flood: Promise<Verification>[] = [];
    for (let at = 0; at < 20_000; at++)
      flood.push(Promise.resolve(keys.verify(`wk_svc_unknown_${at}`)));
    const good = Promise.resolve(keys.verify('good'));
    await Promise.resolve();
    expect(queries.at(-1)).toEqual([hashOf('good')]);
    release();
    expect(await good).toEqual(principal);
    const answers = await Promise.all(flood);
    expect(answers.filter((answer) => answer === 'invalid').length).toBeGreaterThanOrEqual(10_000);
    expect(answers.filter((answer) => answer === 'unverified').length).toBeGreaterThan(0);
    expect(Math.max(...queries.map((hashes) => hashes.length))).toBeLessThanOrEqual(500);
  });
});

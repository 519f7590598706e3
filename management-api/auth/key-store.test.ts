import { hash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../platform/postgres/pool.ts';
import { keyStore, type ResolveToken } from './key-store.ts';

const token = (n: number) => `sk_svc_${String(n).padStart(43, 'A')}`;
const KNOWN = token(0);

let now: number;
let queries: string[][];
let gates: (() => void)[];
let isSlow: boolean;
let exists: boolean;
let resolve: ResolveToken;

const row = {
  ...{ hash: hash('sha256', KNOWN, 'hex'), key_id: '7', account_id: '3', role: 'viewer' },
  ...{ expires_at: new Date(0), revoked: false, active: true, ip_allow: [] },
  message_limit: 600,
};
const database = {
  query: async (_sql: string, [digests]: [Buffer[]]) => {
    queries.push(digests.map((digest) => digest.toString('hex')));
    if (isSlow) await new Promise<void>((open) => gates.push(open));
    const isAsked = digests.some((digest) => digest.toString('hex') === row.hash);
    return { rows: isAsked && exists ? [row] : [] };
  },
} as unknown as Database;

beforeEach(() => {
  now = 0;
  queries = [];
  gates = [];
  isSlow = false;
  exists = true;
  resolve = keyStore({ database, now: () => now });
});

describe('the look-up of management keys', () => {
  it('reads a known key on every request, so a revocation applies at once', async () => {
    const key = { keyId: 7, messageLimit: 600 };
    expect(await resolve(KNOWN)).toMatchObject({ kind: 'key', key });
    exists = false;
    expect(await resolve(KNOWN)).toEqual({ kind: 'unknown' });
  });

  it('does not read an unknown key again for a moment', async () => {
    for (let request = 0; request < 5; request++)
      expect(await resolve(token(1))).toEqual({ kind: 'unknown' });
    expect(queries).toHaveLength(1);
    now += 10_000;
    await resolve(token(1));
    expect(queries).toHaveLength(2);
  });

  it('reads a flood of unknown keys in a few queries', async () => {
    await Promise.all(Array.from({ length: 1000 }, (_, n) => resolve(token(n + 1))));
    expect(queries.length).toBeLessThanOrEqual(4);
  });

  it('reads a key that existed before while the look-up of unknown keys is stuck', async () => {
    await resolve(KNOWN);
    isSlow = true;
    const flood = Array.from({ length: 10_500 }, (_, n) =>
      resolve(token(n + 1)).catch(() => 'refused'),
    );
    const valid = resolve(KNOWN);
    expect(queries).toHaveLength(3);
    isSlow = false;
    gates[1]?.();
    expect(await valid).toMatchObject({ kind: 'key' });
    gates[0]?.();
    await Promise.all(flood);
  });
});

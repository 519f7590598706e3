import { expect, it } from 'vitest';
import { KeptAnswers, type KeptLimits } from './kept-answers.ts';

const STATE = { tables: 't', parts: ['p'], profiles: '', identities: '0', mutation: '0' };
const READS = { events: ['e'], needed: ['e'], from: 0, to: 1, profiles: false };
const answer = (rows: string, ranAt = 0) => ({
  ranAt,
  rows,
  rowsRead: 1,
  ...{ reads: READS, state: STATE, asOf: 0, holdsUntil: 0, noneExpiresUntil: 0 },
  counts: new Map(),
});
const LIMITS: KeptLimits = { answer: 5000, perAccount: 10_000, total: 25_000, maxAgeMs: 1000 };

function fill(now: () => number = () => 0) {
  const kept = new KeptAnswers(LIMITS, now);
  const add = (accountId: number, key: string, size = 1000) =>
    kept.set(key, { accountId, answer: answer('x'.repeat(size)) });
  return { kept, add };
}

it('an account keeps at most its share, and loses the answers used least recently', () => {
  const { kept, add } = fill();
  for (let at = 0; at < 3; at++) add(1, `own ${at}`);
  kept.get('own 0');
  for (let at = 3; at < 5; at++) add(1, `own ${at}`);
  expect(kept.bytesOf(1)).toBeLessThanOrEqual(LIMITS.perAccount);
  expect(kept.get('own 0')).toBeDefined();
  expect(kept.get('own 1')).toBeUndefined();
});

it('all accounts together keep at most the total', () => {
  const { kept, add } = fill();
  for (let at = 0; at < 1000; at++) add(at, `key ${at}`);
  expect(kept.bytes).toBeLessThanOrEqual(LIMITS.total);
  expect(kept.get('key 999')).toBeDefined();
  expect(kept.get('key 0')).toBeUndefined();
});

it('an account that asks much does not displace the answers of another', () => {
  const { kept, add } = fill();
  add(2, 'theirs');
  for (let at = 0; at < 1000; at++) add(1, `own ${at}`);
  expect(kept.get('theirs')).toBeDefined();
});

it('an answer past the largest size is not kept, and ends the one it replaces', () => {
  const { kept, add } = fill();
  add(1, 'key');
  add(1, 'key', LIMITS.answer);
  expect(kept.get('key')).toBeUndefined();
  expect([kept.bytes, kept.bytesOf(1)]).toEqual([0, 0]);
});

it('an answer leaves the memory after its age, though it is used', () => {
  let now = 0;
  const { kept, add } = fill(() => now);
  add(1, 'key');
  for (; now <= 61_000; now += 500) kept.get('key');
  expect(kept.get('key')).toBeUndefined();
  expect(kept.bytes).toBe(0);
});

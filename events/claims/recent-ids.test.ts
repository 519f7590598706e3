import { describe, expect, it } from 'vitest';
import { claimId, claimScope, type ClaimId } from './claim-id.ts';
import { RecentIds } from './recent-ids.ts';

const WINDOW = 1000;
const MIB = 1024 * 1024;
const ids = (account: number, count: number, from = 0): ClaimId[] => {
  const scope = claimScope(account, 'message');
  return Array.from({ length: count }, (_, at) => claimId(scope, `id ${from + at}`));
};
const [one, other] = ids(1, 2) as [ClaimId, ClaimId];
const KEYS = [0x9e3779b1, 0x85ebca77] as const;
const recent = (maxBytes = MIB) => new RecentIds({ maxBytes, windowMs: WINDOW, keys: KEYS });

describe('recent ids', () => {
  it('are known from when they were added until the window has passed, to the millisecond', () => {
    const known = recent();
    known.add(1, one, 5000);
    expect([5000, 5999, 4001].map((at) => known.has(1, one, at))).toEqual([true, true, true]);
    expect([6000, 4000].map((at) => known.has(1, one, at))).toEqual([false, false]);
    expect(known.has(1, other, 5000)).toBe(false);
  });

  it('belong to their account', () => {
    const known = recent();
    known.add(1, one, 5000);
    expect(known.has(2, one, 5000)).toBe(false);
  });

  it('are known for the window after they were added last', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.add(1, one, 6500);
    expect(known.has(1, one, 7499)).toBe(true);
    expect(known.has(1, one, 7500)).toBe(false);
  });

  it('count from when they were first added within the window', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.add(1, one, 5600);
    expect(known.addedAt(1, one, 5700)).toBe(5000);
    expect(known.has(1, one, 6000)).toBe(false);
  });

  it('agree with a map of all ids as long as there is room', () => {
    const known = recent();
    const model = new Map<ClaimId, number>();
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    const all = ids(1, 4000);
    for (let at = 10_000; at < 14_000; at++) {
      const id = all[random(all.length)] ?? one;
      const added = model.get(id);
      const isKnown = added !== undefined && at - added < WINDOW;
      expect(known.has(1, id, at)).toBe(isKnown);
      if (isKnown) continue;
      known.add(1, id, at);
      model.set(id, at);
    }
  });

  it('never claim to know an id that was not added, however many there are', () => {
    const known = recent(64 * 1024);
    for (const id of ids(1, 20_000)) known.add(1, id, 5000);
    expect(ids(1, 20_000, 20_000).some((id) => known.has(1, id, 5000))).toBe(false);
  });

  it('take no more memory than they may, and the last ones of each account stay', () => {
    const known = recent(64 * 1024);
    for (const id of ids(1, 50)) known.add(1, id, 5000);
    const many = ids(2, 20_000);
    for (const id of many) {
      known.add(2, id, 5000);
      expect(known.bytes).toBeLessThanOrEqual(64 * 1024);
    }
    expect(known.has(2, many.at(-1) ?? one, 5000)).toBe(true);
    expect(ids(1, 50).every((id) => known.has(1, id, 5000))).toBe(true);
  });

  it('take no more memory than they may when there are many accounts', () => {
    const known = recent(64 * 1024);
    for (let account = 1; account < 2000; account++) {
      known.add(account, one, 5000);
      expect(known.bytes).toBeLessThanOrEqual(64 * 1024);
    }
    expect(known.has(1999, one, 5000)).toBe(true);
  });

  it('are forgotten when they are cleared', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.clear();
    expect(known.has(1, one, 5000)).toBe(false);
    expect(known.bytes).toBe(0);
  });

  it('stored before the clock was set back are no duplicates for longer than the window', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.add(1, other, 1000);
    expect(known.has(1, other, 1000)).toBe(false);
    expect(known.has(1, one, 3999)).toBe(false);
  });

  it('are stored again after a clock was far ahead for a moment', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.add(1, one, 5000 + 365 * 86_400_000);
    known.add(1, other, 5100);
    expect(known.has(1, other, 5200)).toBe(true);
  });

  it('that a client chose for their first bytes are found within few slots', () => {
    const known = recent();
    const chosen = ids(1, 3000).map((id) => `same${id.slice(4)}` as ClaimId);
    for (const id of chosen) known.add(1, id, 5000);
    expect(chosen.every((id) => known.has(1, id, 5000))).toBe(true);
    expect(known.longestSearch).toBeLessThan(300);
  });
});

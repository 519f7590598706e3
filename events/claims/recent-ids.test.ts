import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimScope } from './claim-id.ts';
import { claimWords, type ClaimWords } from './claim-words.ts';
import { RecentIds } from './recent-ids.ts';

const WINDOW = 1000;
const MIB = 1024 * 1024;
const ids = (account: number, count: number, from = 0): ClaimWords =>
  claimWords(
    claimScope(account, 'message'),
    Array.from({ length: count }, (_, at) => `id ${from + at}`),
  );
const each = (all: ClaimWords): ClaimWords[] =>
  Array.from({ length: all.count }, (_, at) => ({ ...all, from: all.from + 3 * at, count: 1 }));
const [one, other] = [ids(1, 1), ids(1, 1, 1)];
const KEYS = [0x9e3779b1, 0x85ebca77] as const;
const recent = (maxBytes = MIB) => new RecentIds({ maxBytes, windowMs: WINDOW, keys: KEYS });

describe('recent ids', () => {
  it('are known from when they were added until the window has passed, to the millisecond', () => {
    const known = recent();
    known.add(1, one, 5000);
    expect([5000, 5999, 4001].map((at) => known.hasAny(1, one, at))).toEqual([true, true, true]);
    expect([6000, 4000].map((at) => known.hasAny(1, one, at))).toEqual([false, false]);
    expect(known.hasAny(1, other, 5000)).toBe(false);
  });

  it('belong to their account', () => {
    const known = recent();
    known.add(1, one, 5000);
    expect(known.hasAny(2, one, 5000)).toBe(false);
  });

  it('are known for the window after they were added last', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.add(1, one, 6500);
    expect(known.hasAny(1, one, 7499)).toBe(true);
    expect(known.hasAny(1, one, 7500)).toBe(false);
  });

  it('count from when they were first added within the window', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.add(1, one, 5600);
    expect(known.addedAt(1, { ids: one, position: 0 }, 5700)).toBe(5000);
    expect(known.hasAny(1, one, 6000)).toBe(false);
  });

  it('agree with a map of all ids as long as there is room', () => {
    const positions = fc.array(fc.nat(39), { maxLength: 12 });
    const step = fc.record({
      account: fc.constantFrom(1, 2),
      passed: fc.oneof(fc.nat(3), fc.nat(700)),
      positions,
      added: fc.option(positions, { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const known = recent();
        const model = new Map<string, number>();
        let at = 10_000;
        for (const { account, passed, positions, added } of steps) {
          at += passed;
          const sent = claimWords(
            claimScope(1, 'message'),
            positions.map((one) => `id ${one}`),
          );
          const keys = positions.map((one) => `${account} ${one}`);
          const times = keys.map((key) => {
            const time = model.get(key);
            return time !== undefined && at - time < WINDOW ? time : undefined;
          });
          expect(known.hasAny(account, sent, at)).toBe(times.some((time) => time !== undefined));
          for (const [position, time] of times.entries())
            expect(known.addedAt(account, { ids: sent, position }, at)).toBe(time);
          const chosen = added?.filter((position) => position < keys.length);
          known.add(account, sent, at, chosen);
          for (const position of chosen ?? keys.keys())
            if (times[position] === undefined) model.set(keys[position] ?? '', at);
        }
      }),
      { seed: 20261130, numRuns: 500 },
    );
  });

  it('are all found while their table grows', () => {
    const known = recent();
    const all = ids(1, 4000);
    known.add(1, all, 5000);
    expect(each(all).every((id) => known.hasAny(1, id, 5000))).toBe(true);
  });

  it('keep times of more than 2^31 ms after the first', () => {
    const known = new RecentIds({ maxBytes: MIB, windowMs: 2 ** 32, keys: KEYS });
    known.add(1, one, 0);
    known.add(1, other, 3_000_000_000);
    known.add(1, ids(1, 100, 2), 3_000_000_001);
    expect(known.addedAt(1, { ids: other, position: 0 }, 3_000_000_002)).toBe(3_000_000_000);
  });

  it('never claim to know an id that was not added, however many there are', () => {
    const known = recent(64 * 1024);
    known.add(1, ids(1, 20_000), 5000);
    expect(known.hasAny(1, ids(1, 20_000, 20_000), 5000)).toBe(false);
  });

  it('take no more memory than they may, and the last ones of each account stay', () => {
    const known = recent(64 * 1024);
    known.add(1, ids(1, 50), 5000);
    const many = each(ids(2, 20_000));
    for (const id of many) {
      known.add(2, id, 5000);
      expect(known.bytes).toBeLessThanOrEqual(64 * 1024);
    }
    expect(known.hasAny(2, ids(2, 1, 19_999), 5000)).toBe(true);
    expect(each(ids(1, 50)).every((id) => known.hasAny(1, id, 5000))).toBe(true);
  });

  it('take no more memory than they may when there are many accounts', () => {
    const known = recent(64 * 1024);
    for (let account = 1; account < 2000; account++) {
      known.add(account, one, 5000);
      expect(known.bytes).toBeLessThanOrEqual(64 * 1024);
    }
    expect(known.hasAny(1999, one, 5000)).toBe(true);
  });

  it('are forgotten when they are cleared', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.clear();
    expect(known.hasAny(1, one, 5000)).toBe(false);
    expect(known.bytes).toBe(0);
  });

  it('stored before the clock was set back are no duplicates for longer than the window', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.add(1, other, 1000);
    expect(known.hasAny(1, other, 1000)).toBe(false);
    expect(known.hasAny(1, one, 3999)).toBe(false);
  });

  it('are stored again after a clock was far ahead for a moment', () => {
    const known = recent();
    known.add(1, one, 5000);
    known.add(1, one, 5000 + 365 * 86_400_000);
    known.add(1, other, 5100);
    expect(known.hasAny(1, other, 5200)).toBe(true);
  });

  it('that a client chose for their first bytes are found within few slots', () => {
    const known = recent();
    const { words, ...all } = ids(1, 3000);
    const chosen = {
      ...all,
      words: words.map((word, at) => ((at - all.from) % 3 === 0 ? 0x656d6173 : word)),
    };
    known.add(1, chosen, 5000);
    expect(each(chosen).every((id) => known.hasAny(1, id, 5000))).toBe(true);
    expect(known.longestSearch).toBeLessThan(300);
  });
});

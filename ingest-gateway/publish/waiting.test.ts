import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from './in-flight.ts';
import { record } from './testing/publisher-under-test.ts';
import { Waiting } from './waiting.ts';

function entry(number: number, { accountId = 1, bytes = 1 } = {}): Entry {
  return {
    record: record(number, { accountId, bytes }),
    waiter: { left: 1, refused: [], resolve: () => undefined },
    sentAt: 0,
    activeSince: 0,
    isComplete: false,
    flow: undefined,
  };
}

const numberOf = (one: Entry) => Number(one.record.value);

describe('waiting records', () => {
  it('leave in order within their account, and none is lost', () => {
    const pushed = fc.array(
      fc.record({
        accountId: fc.integer({ min: 1, max: 3 }),
        bytes: fc.constantFrom(1, 9, 99_999),
      }),
    );
    fc.assert(
      fc.property(pushed, fc.nat(20), (all, first) => {
        const waiting = new Waiting(1e9);
        const entries = all.map((of, number) => entry(number, of));
        for (const one of entries) expect(waiting.push(one)).toBe(true);
        const left: Entry[] = [];
        for (let count = 0; count < first; count++) {
          const one = waiting.take(Infinity);
          if (one) left.push(one);
        }
        left.push(...waiting.removeAll());
        expect([waiting.bytes, waiting.records, left.length]).toEqual([0, 0, all.length]);
        for (const accountId of [1, 2, 3]) {
          const own = left.filter((one) => one.record.accountId === accountId).map(numberOf);
          expect(own).toEqual(own.toSorted((a, b) => a - b));
        }
      }),
    );
  });

  it('of an account with large records and of one with small ones leave at the same rate', () => {
    const waiting = new Waiting(1e9);
    for (let number = 0; number < 20; number++)
      waiting.push(entry(number, { accountId: 1, bytes: 1_000_000 }));
    for (let number = 0; number < 20_000; number++)
      waiting.push(entry(number, { accountId: 2, bytes: 1000 }));
    const bytes = [0, 0, 0];
    while ((bytes[1] ?? 0) + (bytes[2] ?? 0) < 10_000_000) {
      const { accountId = 0, value } = waiting.take(Infinity)?.record ?? {};
      bytes[accountId] = (bytes[accountId] ?? 0) + (value?.length ?? 0);
    }
    expect(Math.abs((bytes[1] ?? 0) - (bytes[2] ?? 0))).toBeLessThanOrEqual(1_100_000);
  });

  it('of an account fill as much as they leave free, so another account always finds room', () => {
    const waiting = new Waiting(1000);
    const fill = (accountId: number) => {
      let count = 0;
      while (waiting.push(entry(count, { accountId, bytes: 10 }))) count++;
      return count;
    };
    expect([fill(1), fill(2), fill(3)]).toEqual([50, 25, 13]);
    expect(fill(1)).toBe(0);
  });

  it('stay while the next one has no room', () => {
    const waiting = new Waiting(1000);
    waiting.push(entry(0, { bytes: 100 }));
    expect(waiting.take(99)).toBeUndefined();
    expect(waiting.take(100)).toBeDefined();
    expect(waiting.take(100)).toBeUndefined();
  });
});

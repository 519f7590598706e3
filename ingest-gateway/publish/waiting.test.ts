import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BulkShare, MAX_PARTITIONS, type AccountBulk } from './bulk-share.ts';
import { InFlight, newEntry, type Entry } from './in-flight.ts';
import { record } from './testing/publisher-under-test.ts';
import { Waiting } from './waiting.ts';

function entry(
  number: number,
  { accountId = 1, bytes = 1, partition = 0, bulk = undefined as AccountBulk | undefined } = {},
): Entry {
  return newEntry(record(number, { accountId, bytes, partition }), {
    bulk,
    left: 1,
    refused: [],
    resolve: () => undefined,
  });
}

const numberOf = (one: Entry) => Number(one.record.value);

/** Records that wait, and those that were sent. */
function setUp(maxBytes = 1e9) {
  const share = new BulkShare();
  const inFlight = new InFlight(() => Infinity, share);
  const waiting = new Waiting(maxBytes, share);
  const flowOf = ({ record: { topic, partition } }: Entry) => inFlight.of(topic, partition);
  return {
    waiting,
    bulkOf: (accountId: number) => share.begin(accountId),
    push: (one: Entry) => waiting.push(one, flowOf(one)),
    mayPass: (one: Entry) => waiting.mayPass(one, flowOf(one)),
    /** Takes records and sends them, until none has a turn. */
    send: (most = Infinity) => {
      const sent: Entry[] = [];
      while (sent.length < most) {
        const one = waiting.take(Infinity);
        if (!one) break;
        flowOf(one).push(one);
        sent.push(one);
      }
      return sent;
    },
    acknowledge: (one: Entry) => one.flow?.remove(one),
  };
}

describe('waiting records', () => {
  it('leave in order within their account and partition, and none is lost', () => {
    const pushed = fc.array(
      fc.record({
        accountId: fc.integer({ min: 1, max: 3 }),
        bytes: fc.constantFrom(1, 9, 99_999),
        partition: fc.nat(7),
        isBulk: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(pushed, fc.nat(20), (all, first) => {
        const { waiting, push, send, bulkOf } = setUp();
        const entries = all.map(({ isBulk, ...of }, number) =>
          entry(number, isBulk ? { ...of, bulk: bulkOf(of.accountId) } : of),
        );
        for (const one of entries) expect(push(one)).toBe(true);
        const left = [...send(first), ...waiting.removeAll()];
        expect([waiting.bytes, waiting.records, left.length]).toEqual([0, 0, all.length]);
        for (const own of Object.values(
          Object.groupBy(left, ({ record: of }) => `${of.accountId} ${of.partition}`),
        )) {
          const order = own?.map(numberOf);
          expect(order).toEqual(order?.toSorted((a, b) => a - b));
        }
      }),
    );
  });

  it('of an account with large records and of one with small ones leave at the same rate', () => {
    const { waiting, push } = setUp();
    for (let number = 0; number < 20; number++)
      push(entry(number, { accountId: 1, bytes: 1_000_000 }));
    for (let number = 0; number < 20_000; number++)
      push(entry(number, { accountId: 2, bytes: 1000 }));
    const bytes = [0, 0, 0];
    while ((bytes[1] ?? 0) + (bytes[2] ?? 0) < 10_000_000) {
      const { accountId = 0, value } = waiting.take(Infinity)?.record ?? {};
      bytes[accountId] = (bytes[accountId] ?? 0) + (value?.length ?? 0);
    }
    expect(Math.abs((bytes[1] ?? 0) - (bytes[2] ?? 0))).toBeLessThanOrEqual(1_100_000);
  });

  it('of an account fill as much as they leave free, so another account always finds room', () => {
    const { push } = setUp(1000);
    const fill = (accountId: number) => {
      let count = 0;
      while (push(entry(count, { accountId, bytes: 10 }))) count++;
      return count;
    };
    expect([fill(1), fill(2), fill(3)]).toEqual([50, 25, 13]);
    expect(fill(1)).toBe(0);
  });

  it('stay while the next one has no room', () => {
    const { waiting, push } = setUp(1000);
    push(entry(0, { bytes: 100 }));
    expect(waiting.take(99)).toBeUndefined();
    expect(waiting.take(100)).toBeDefined();
    expect(waiting.take(100)).toBeUndefined();
  });

  it('of a large request go to few partitions at once, and the others follow', () => {
    const { push, send, acknowledge, bulkOf } = setUp();
    const bulk = bulkOf(1);
    const all = Array.from({ length: 60 }, (_, number) =>
      entry(number, { partition: number % 20, bulk }),
    );
    for (const one of all) push(one);
    const sent: Entry[] = [];
    for (let round = send(); round.length > 0; round = send()) {
      const partitions = new Set(round.map((one) => one.record.partition));
      expect([partitions.size, round.length]).toEqual([MAX_PARTITIONS, 3 * MAX_PARTITIONS]);
      round.forEach(acknowledge);
      sent.push(...round);
    }
    expect(sent.length).toBe(all.length);
  });

  it('of a large request let small ones and other accounts pass, but not in the same partition', () => {
    const { push, send, mayPass, acknowledge, bulkOf } = setUp();
    const bulk = bulkOf(1);
    for (let partition = 0; partition <= MAX_PARTITIONS; partition++)
      push(entry(partition, { partition, bulk }));
    const sent = send();
    expect(sent.length).toBe(MAX_PARTITIONS);
    const last = { partition: MAX_PARTITIONS };
    expect(mayPass(entry(9, { partition: 0 }))).toBe(true);
    expect(mayPass(entry(9, { ...last, accountId: 2, bulk: bulkOf(2) }))).toBe(true);
    expect(mayPass(entry(9, last))).toBe(false);
    expect(mayPass(entry(9, { partition: 9, bulk }))).toBe(false);
    push(entry(9, last));
    expect(send()).toEqual([]);
    for (const one of sent.slice(0, 1)) acknowledge(one);
    expect(send().map(numberOf)).toEqual([MAX_PARTITIONS, 9]);
  });
});

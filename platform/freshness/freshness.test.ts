import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { decider } from '../../events/testing/given.ts';
import { createLog } from '../log.ts';
import { freshUntil, nextRecords, type HopProgress, type Snapshot } from './decide.ts';
import { createFreshness } from './freshness.ts';
import { hopsOf } from './projections.ts';

type PartitionRow = [low: number, end: number, committed: number | undefined];

const hop = (group: string, partitions: PartitionRow[]): HopProgress => ({
  topic: `topic of ${group}`,
  group,
  partitions: new Map(
    partitions.map(([low, end, committed], partition) => [partition, { low, end, committed }]),
  ),
});

describe('the next records of consumer groups', () => {
  it.each<[title: string, partition: PartitionRow]>([
    ['has reached the end', [0, 5, 5]],
    ['reads an empty partition', [0, 0, undefined]],
    ['reads a partition whose records were all deleted', [7, 7, 3]],
    ['committed past the end', [0, 5, 6]],
  ])('do not include one of a group that %s', (_, partition) => {
    expect(nextRecords([hop('g', [partition])])).toEqual([]);
  });

  it.each<[title: string, partition: PartitionRow, offset: number]>([
    ['the committed offset of a group that is behind', [0, 5, 2], 2],
    ['the first retained offset when the next record was deleted', [3, 5, 1], 3],
    ['the first retained offset of a group that never committed', [4, 9, undefined], 4],
  ])('start at %s', (_, partition, offset) => {
    expect(nextRecords([hop('g', [[0, 5, 5], partition])])).toEqual([
      { topic: 'topic of g', group: 'g', partition: 1, offset },
    ]);
  });

  it('include one of each lagging partition, in order', () => {
    const lagging = hop('g', [
      [0, 5, 2],
      [3, 5, 1],
      [4, 9, undefined],
    ]);
    expect(nextRecords([lagging]).map(({ partition, offset }) => [partition, offset])).toEqual([
      [0, 2],
      [1, 3],
      [2, 4],
    ]);
  });
});

describe('freshUntil', () => {
  const { given } = decider(freshUntil);
  const behind = {
    startedAt: 100,
    behind: [
      { group: 'a', appendedAt: 40 },
      { group: 'b', appendedAt: 20 },
      { group: 'a', appendedAt: 60 },
    ],
  };

  it('is the clock before the snapshot when nobody is behind', () => {
    given({ startedAt: 100, behind: [] }).when(['a']).then(100);
  });

  it('is the earliest append time of the next records of a group', () => {
    given(behind).when(['a']).then(40);
  });

  it('is the earliest append time over all given groups', () => {
    given(behind).when(['a', 'b']).then(20);
  });

  it('does not depend on other groups', () => {
    given(behind).when(['c']).then(100);
  });

  it('never includes a record that has not passed both hops', () => {
    // Raw records of one partition by append time; the first `normalised` are through hop one, the
    // first `stored` of these through hop two.
    const world = fc.record({
      gaps: fc.array(fc.nat(3), { maxLength: 12 }),
      normalised: fc.nat(12),
      stored: fc.nat(12),
    });
    fc.assert(
      fc.property(fc.array(world, { minLength: 1, maxLength: 4 }), (partitions) => {
        const logs = partitions.map(({ gaps, normalised, stored }) => {
          const times = gaps.reduce<number[]>((all, gap) => [...all, (all.at(-1) ?? 0) + gap], []);
          const processed = Math.min(normalised, times.length);
          return { times, processed, stored: Math.min(stored, processed) };
        });
        const startedAt = 1 + Math.max(0, ...logs.flatMap(({ times }) => times));
        const hops = [
          hop(
            'normaliser',
            logs.map(({ times, processed }) => [0, times.length, processed]),
          ),
          hop(
            'sink',
            logs.map(({ processed, stored }) => [0, processed, stored]),
          ),
        ];
        const behind = nextRecords(hops).map(({ group, partition, offset }) => ({
          group,
          appendedAt: logs[partition]?.times[offset] ?? -1,
        }));
        const until = freshUntil({ startedAt, behind }, ['normaliser', 'sink']);
        const waiting = logs.flatMap(({ times, stored }) => times.slice(stored));
        expect(waiting.filter((time) => time < until)).toEqual([]);
        expect(until).toBe(Math.min(startedAt, ...waiting));
      }),
    );
  });
});

it('the topics of projections are read in the direction of the events', () => {
  const hops = hopsOf(['profiles', 'addresses', 'events']);
  expect(hops.map(({ topic, groups }) => [topic, ...groups])).toEqual([
    ['events.raw', 'normaliser'],
    ['events.normalised', 'profiles-sink', 'events-sink'],
    ['channel.commands', 'addresses-sink'],
  ]);
});

describe('createFreshness', () => {
  const log = createLog({ part: 'test', level: 'silent' });
  const at = (startedAt: number): Snapshot => ({ startedAt, behind: [] });

  it('fetches one snapshot for concurrent requests, and another one after a second', async () => {
    let now = 0;
    const fetchSnapshot = vi.fn(() => Promise.resolve(at(now)));
    const freshness = createFreshness({ fetchSnapshot, now: () => now, log });
    expect(
      await Promise.all([freshness.freshUntil(['events']), freshness.freshUntil(['events'])]),
    ).toEqual([0, 0]);
    now = 999;
    await freshness.freshUntil(['events']);
    expect(fetchSnapshot).toHaveBeenCalledTimes(1);
    now = 1000;
    expect(await freshness.freshUntil(['events'])).toBe(1000);
  });

  it('depends on the projections that an answer reads, and on no other', async () => {
    const behind = [
      { group: 'normaliser', appendedAt: 90 },
      { group: 'events-sink', appendedAt: 80 },
      { group: 'identities-sink', appendedAt: 70 },
      { group: 'profiles-sink', appendedAt: 60 },
      { group: 'addresses-sink', appendedAt: 50 },
    ];
    const freshness = createFreshness({
      fetchSnapshot: () => Promise.resolve({ startedAt: 100, behind }),
      now: () => 0,
      log,
    });
    expect(await freshness.freshUntil([])).toBe(90);
    expect(await freshness.freshUntil(['events'])).toBe(80);
    expect(await freshness.freshUntil(['events', 'identities'])).toBe(70);
    expect(await freshness.freshUntil(['events', 'profiles'])).toBe(60);
    expect(await freshness.freshUntil(['profiles', 'addresses'])).toBe(50);
  });

  it('uses the last snapshot while Kafka is unavailable, and rejects when there was none', async () => {
    let now = 5;
    const fetchSnapshot = vi
      .fn<() => Promise<Snapshot>>()
      .mockRejectedValueOnce(new Error('unavailable'));
    const freshness = createFreshness({ fetchSnapshot, now: () => now, log });
    await expect(freshness.freshUntil(['events'])).rejects.toThrow('unavailable');
    fetchSnapshot.mockResolvedValueOnce(at(5));
    expect(await freshness.freshUntil(['events'])).toBe(5);
    now = 5000;
    fetchSnapshot.mockRejectedValueOnce(new Error('unavailable'));
    expect(await freshness.freshUntil(['events'])).toBe(5);
  });

  describe('logs when it begins and when it ends that nobody knows the progress', () => {
    beforeEach(() => vi.useFakeTimers({ now: 1_000_000 }));
    afterEach(() => vi.useRealTimers());

    function logged(fetchSnapshot: () => Promise<Snapshot>) {
      const lines: string[] = [];
      const to = { write: (line: string) => void lines.push(line) };
      const freshness = createFreshness({
        ...{ fetchSnapshot, now: () => Date.now() },
        log: createLog({ part: 'test', level: 'info', to }),
      });
      return {
        /** Some at once. */
        ask: (requests: number) =>
          Promise.allSettled(
            Array.from({ length: requests }, () => freshness.freshUntil(['events'])),
          ),
        levels: () => lines.map((line) => (JSON.parse(line) as { level: string }).level),
      };
    }

    it('once for all requests, while Kafka is unavailable', async () => {
      let fails = true;
      const { ask, levels } = logged(() =>
        fails ? Promise.reject(new Error('unavailable')) : Promise.resolve(at(Date.now())),
      );
      for (let round = 0; round < 3; round++) await ask(20);
      expect(levels()).toEqual(['warn']);
      fails = false;
      await ask(20);
      fails = true;
      await vi.advanceTimersByTimeAsync(2000);
      await ask(20);
      expect(levels()).toEqual(['warn', 'info', 'warn']);
    });

    it('once while each of its answers takes longer than a request waits', async () => {
      const { ask, levels } = logged(async () => {
        await new Promise((resolve) => setTimeout(resolve, 4000));
        return at(Date.now());
      });
      for (let round = 0; round < 4; round++) {
        const early = ask(10);
        await vi.advanceTimersByTimeAsync(2000);
        const late = ask(10);
        await vi.advanceTimersByTimeAsync(4000);
        await Promise.all([early, late]);
      }
      expect(levels()).toEqual(['warn']);
    });
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutOfMemory, type EventCounter } from './event-counter.ts';
import { newMemory, type EventMemory } from './event-memory.ts';
import type { Counting } from './many-events.ts';
import { MIN_MEMORY_BYTES } from './memory-layout.ts';
import { countRows } from './testing/count-rows.ts';
import { countersOf, sharesOf, smallMemory, summedCounts } from './testing/count-shared.ts';
import { columnsOf, type ManyRow } from './testing/many-rows.ts';

/** No gap is greater: times have 40 bits. */
const MAX_TIME = 2 ** 40 - 1;

function add(counter: EventCounter | undefined, slice: number, rows: readonly ManyRow[]): void {
  const { people, keys } = columnsOf(rows);
  counter?.add(slice, people, keys);
}

/** Some ranks of so many values, and that of no value. */
function ranksOf(values: number): number[] {
  const ranks = Array.from({ length: 200 }, (_, at) => Math.floor((at * values) / 200));
  return [...new Set([...ranks, values])];
}

/** What is counted of the rows of each slice, and of each list the values of some ranks. */
function counted(memory: EventMemory, slices: readonly (readonly ManyRow[])[], counting: Counting) {
  const counters = countersOf(memory);
  for (const [slice, rows] of slices.entries()) add(counters[slice % counters.length], slice, rows);
  const shares = sharesOf(counters, counting);
  const expected = countRows(slices.flat(), counting);
  return {
    found: {
      counts: summedCounts(shares).map((counts) => [...counts]),
      values: expected.lists.map(({ length }, list) => {
        const addresses = shares.flatMap(({ lists }) => lists[list] ?? []);
        return counters[list % 2]?.valuesOf(addresses, { ranks: ranksOf(length), max: MAX_TIME });
      }),
    },
    expected: {
      counts: expected.counts,
      values: expected.lists.map((list) => ranksOf(list.length).map((rank) => list[rank] ?? NaN)),
    },
  };
}

const ordered = (steps: number, windowMs: number): Counting => ({
  ...{ kind: 'ordered', rules: { steps, windowMs } },
});

/** Hashes of people that share partitions, buckets, neither or both. */
const HASHES: readonly ((person: number) => bigint)[] = [
  (person) => (BigInt(person) * 0x9e3779b97f4a7c15n) & (2n ** 64n - 1n),
  (person) => BigInt(person),
  (person) => BigInt(person % 512) << 55n,
  (person) => 2n ** 64n - 1n - (BigInt(person) << 20n),
];

const rowsOf = (key: fc.Arbitrary<number>, most: number) =>
  fc
    .tuple(
      fc.constantFrom(...HASHES),
      fc.array(fc.tuple(fc.nat({ max: most }), key), { maxLength: 400, size: 'max' }),
    )
    .map(([hashOf, drawn]) =>
      drawn.map(([person, value]) => ({ person: hashOf(person), key: value })),
    );

const people = fc.constantFrom(0, 2, 30, 1000);

const funnelCase = fc
  .tuple(fc.integer({ min: 2, max: 12 }), fc.constantFrom(2, 30, 1000, MAX_TIME), people)
  .chain(([steps, times, most]) => {
    const event = fc.tuple(fc.integer({ min: 1, max: times }), fc.nat({ max: steps - 1 }));
    const key = event.map(([time, step]) => time * 2 ** 12 + 2 ** step);
    return fc.record({
      counting: fc.constantFrom(0, 1, 10, 1000, 1e10).map((windowMs) => ordered(steps, windowMs)),
      slices: fc.array(rowsOf(key, most), { minLength: 1, maxLength: 4 }),
    });
  });

const retentionCase = fc
  .tuple(
    fc.record({
      cohorts: fc.integer({ min: 1, max: 20 }),
      periods: fc.integer({ min: 1, max: 60 }),
      isSameEvent: fc.boolean(),
    }),
    people,
  )
  .chain(([rules, most]) => {
    const key = fc
      .tuple(fc.nat({ max: rules.cohorts + 5 }), fc.nat({ max: 9 }), fc.constantFrom(1, 2))
      .map(([period, within, flag]) => {
        const flags = rules.isSameEvent ? 3 : flag;
        return period === 0 ? 1 : (period * 10 + within) * 2 ** 14 + period * 4 + flags;
      });
    return fc.record({
      counting: fc.constant<Counting>({ kind: 'first-time', rules }),
      slices: fc.array(rowsOf(key, most), { minLength: 1, maxLength: 4 }),
    });
  });

it.each([
  ['funnels', funnelCase],
  ['retentions', retentionCase],
] as const)('two counters count %s as the same rules in TypeScript', (_, cases) => {
  let counts = 0;
  fc.assert(
    fc.property(cases, ({ counting, slices }) => {
      const { found, expected } = counted(smallMemory(), slices, counting);
      counts += expected.counts.at(-1)?.filter((one) => one > 0).length ?? 0;
      expect(found).toEqual(expected);
    }),
    { numRuns: 250 },
  );
  expect(counts).toBeGreaterThan(250);
});

describe('100,000 events', () => {
  const ROWS = 100_000;
  const one = () => 5n;
  /** Numbers of 32 bits in no order. */
  const mixed = (at: number) => {
    const half = Math.imul(at ^ (at >>> 15), 0x2c1b3c6d);
    return Math.imul(half ^ (half >>> 12), 0x297a2d39) >>> 0;
  };
  const spread = (at: number) => mixed(at) + 1;
  const near = (at: number) => (at < 1000 ? MAX_TIME : 1 + (spread(at) % 5000));

  interface Events {
    of: string;
    person: (at: number) => bigint;
    time: (at: number) => number;
    steps?: number;
    windowMs?: number;
  }
  it.each<Events>([
    { of: 'one person', person: one, time: spread, steps: 12 },
    { of: 'one person at one time', person: one, time: () => 7 },
    { of: 'one person at two times', person: one, time: (at) => (at % 2 ? 1 : MAX_TIME) },
    { of: 'one person, in order', person: one, time: (at) => at + 1, steps: 12 },
    { of: 'one person, in reverse order', person: one, time: (at) => ROWS - at },
    { of: 'people in one bucket', person: (at) => BigInt(at % 5000), time: spread },
    // nearly all of their keys, 69 or 129, are in one range of time
    {
      of: 'people with a distant one each',
      person: (at) => BigInt(at < 70_000 ? at % 1000 : at % 500),
      ...{ time: near, steps: 12, windowMs: 300 },
    },
    {
      ...{ of: 'people in all partitions', time: spread },
      person: (at) => BigInt(at % 5000) << 50n,
    },
    { of: 'people with one each', person: (at) => BigInt(at), time: spread },
  ])('of $of', ({ person, time, steps = 4, windowMs = 2 ** 31 }) => {
    const rows = Array.from({ length: ROWS }, (_, at) => ({
      person: person(at),
      key: time(at) * 2 ** 12 + 2 ** ((mixed(at + ROWS) >>> 8) % steps),
    }));
    const counting = ordered(12, windowMs);
    const slices = [rows.slice(0, 30_000), rows.slice(30_000)];
    const { found, expected } = counted(smallMemory(), slices, counting);
    expect(found.counts).toEqual(expected.counts);
    expect(found.values).toEqual(expected.values);
  });
});

describe('memory', () => {
  /** Rows of one partition. */
  const rowsFrom = (from: number, count: number): ManyRow[] =>
    Array.from({ length: count }, (_, at) => ({
      person: BigInt(from + at) << 30n,
      key: 2 ** 12 + 1,
    }));

  it('more events than it holds are refused, and cleared memory holds them again', () => {
    const memory = newMemory(MIN_MEMORY_BYTES + 1001, 2);
    // half of the pages
    const rows = rowsFrom(0, MIN_MEMORY_BYTES / 16 / 2);
    const [counter] = countersOf(memory);
    add(counter, 0, rows);
    expect(() => {
      add(counter, 1, rows);
      add(counter, 2, rows);
    }).toThrow(OutOfMemory);
    expect(() => add(countersOf(memory)[1], 2, rows)).not.toThrow();
  });

  it('a partition without room to be sorted is refused', () => {
    const memory = newMemory(MIN_MEMORY_BYTES, 2);
    const { from, to } = memory.layout.threads[0]?.rows ?? { from: 0, to: 0 };
    const fit = (to - from) / 16;
    for (const [rows, isCounted] of [
      [fit, true],
      [fit + 1, false],
    ] as const) {
      const [counter] = countersOf(memory);
      add(counter, 0, rowsFrom(0, rows));
      const count = () => counter?.count(ordered(2, 1)).counts[0]?.[1];
      if (isCounted) expect(count()).toBe(fit);
      else expect(count).toThrow(OutOfMemory);
    }
  });

  it('gaps without a page are refused', () => {
    const memory = newMemory(MIN_MEMORY_BYTES, 1);
    const [counter] = countersOf(memory);
    // one page, whose person has gaps in eleven lists
    const path = Array.from({ length: 12 }, (_, step) => ({
      ...{ person: 5n, key: (step + 1) * 2 ** 12 + 2 ** step },
    }));
    add(counter, 0, path);
    const others = Array.from({ length: 10_000 }, () => ({ person: 2n ** 63n, key: 2 ** 12 + 1 }));
    const fill = () => {
      for (;;) add(counter, 1, others);
    };
    expect(fill).toThrow(OutOfMemory);
    expect(() => counter?.count(ordered(12, 100), [0])).toThrow(OutOfMemory);
  });

  it('a counter writes nothing that is of another one', () => {
    const memory = newMemory(MIN_MEMORY_BYTES, 2);
    const [counter] = countersOf(memory);
    const rows = Array.from({ length: 50_000 }, (_, at) => ({
      ...{ person: BigInt(at % 3000) << 40n, key: (at + 1) * 2 ** 12 + 2 ** ((at % 7) % 3) },
    }));
    add(counter, 0, rows);
    const count = counter?.count(ordered(3, 10_000));
    expect(count?.counts[0]?.[3]).toBeGreaterThan(1000);
    const other = memory.layout.threads[1];
    const written = (from = 0, to = 0) =>
      new Uint8Array(memory.memory.buffer, from, to - from).some((byte) => byte !== 0);
    expect(written(other?.counts, memory.layout.bytes)).toBe(false);
    expect(written(other?.state, memory.layout.clearedBytes)).toBe(false);
    // four extents
    const { pages } = memory.layout;
    expect(written(pages.from + 2 ** 23, pages.to)).toBe(false);
  });
});

it.each([
  ['a slice that is not laid out', () => add(countersOf(smallMemory())[0], 4, [])],
  ['a funnel of too many steps', () => sharesOf(countersOf(smallMemory()), ordered(40, 1))],
])('refuses %s', (_, run) => {
  expect(run).toThrow(RangeError);
});

import type { Counted } from './counted.ts';
import type { EventMemory } from './event-memory.ts';
import type { Counting } from './many-events.ts';
import {
  LIST_BYTES,
  MAX_COUNTS,
  MAX_ROWS,
  MAX_STEPS,
  PARTITIONS,
  type Layout,
} from './memory-layout.ts';
import { RANGES, valuesOfRanks, type Ranks } from './order-statistics.ts';

/** There is no memory for the events of a report. */
export class OutOfMemory extends Error {
  override name = 'OutOfMemory';

  constructor() {
    super('no memory for the events of this report');
  }
}

/** What wasm/count-events.as.ts exports; an address may come as a negative number. */
interface Loops {
  begin: (
    ...addresses: [
      ...[pool: number, poolEnd: number, state: number, lists: number, slices: number],
      ...[numbers: number, rows: number, rowsEnd: number],
    ]
  ) => void;
  addRows: (slice: number, people: number, keys: number, rows: number) => number;
  sortPartition: (partition: number) => number;
  countOrdered: (
    ...counted: [people: number, gaps: number, paths: number, rows: number, windowMs: number]
  ) => number;
  countFirstTime: (
    ...counted: [
      ...[members: number, returned: number, rows: number],
      ...[cohorts: number, periods: number, isSameEvent: number],
    ]
  ) => void;
  countGaps: (
    ...ranges: [list: number, counts: number, size: number, low: number, shift: number]
  ) => void;
}

/** One of the threads that share the memory of a report: reads events into it, and counts them. */
export class EventCounter {
  readonly #loops: Loops;
  readonly #layout: Layout;
  readonly #own: Layout['threads'][number];
  readonly #turn: Int32Array;
  readonly #counts: Uint32Array;
  readonly #numbers: Uint32Array;
  readonly #people: Uint32Array;
  readonly #keys: Uint32Array;

  /** @param thread its number, from 0 on */
  constructor({ module, memory, layout }: EventMemory, thread: number) {
    const own = layout.threads[thread];
    if (!own) throw new RangeError(`the memory is not laid out for thread ${thread}`);
    const { buffer } = memory;
    this.#turn = new Int32Array(buffer, layout.turn, 1);
    this.#counts = new Uint32Array(buffer, own.counts, MAX_COUNTS);
    this.#numbers = new Uint32Array(buffer, own.numbers, RANGES);
    this.#people = new Uint32Array(buffer, own.people, 2 * MAX_ROWS);
    this.#keys = new Uint32Array(buffer, own.keys, 2 * MAX_ROWS);
    [this.#layout, this.#own] = [layout, own];
    this.#loops = new WebAssembly.Instance(module, { env: { memory } }).exports as Loops;
    this.#loops.begin(
      ...([layout.pool, layout.pages.to, own.state, layout.lists, layout.slices] as const),
      ...([own.numbers, own.rows.from, own.rows.to] as const),
    );
  }

  /**
   * Adds events to a slice, which is this thread's alone.
   * @param people hashes, and @param keys both as two numbers, the lower half first
   * @throws OutOfMemory
   */
  add(slice: number, people: Uint32Array, keys: Uint32Array): void {
    if (slice < 0 || slice >= this.#layout.slices) throw new RangeError(`no slice ${slice}`);
    for (let from = 0; from < people.length; from += 2 * MAX_ROWS) {
      const piece = people.subarray(from, from + 2 * MAX_ROWS);
      this.#people.set(piece);
      this.#keys.set(keys.subarray(from, from + piece.length));
      const rows = piece.length / 2;
      const added = this.#loops.addRows(slice, this.#own.people, this.#own.keys, rows);
      if (added < rows) throw new OutOfMemory();
    }
  }

  /**
   * Counts the people of partitions; without `partitions`, of those that no other thread has got.
   * @throws OutOfMemory
   */
  count(counting: Counting, partitions: Iterable<number> = this.#unclaimed()): Counted {
    const sizes = sizesOf(counting);
    this.#counts.fill(0);
    for (const partition of partitions) this.#countPartition(counting, partition);
    let end = 0;
    return {
      counts: sizes.counts.map((size) => {
        end += size;
        return Float64Array.from(this.#counts.subarray(end - size, end));
      }),
      lists: Array.from({ length: sizes.lists }, (_, list) => this.#own.gaps + LIST_BYTES * list),
    };
  }

  *#unclaimed(): Generator<number> {
    for (;;) {
      const partition = Atomics.add(this.#turn, 0, 1);
      if (partition >= PARTITIONS) return;
      yield partition;
    }
  }

  #countPartition({ kind, rules }: Counting, partition: number): void {
    const [loops, { counts, gaps, paths }] = [this.#loops, this.#own];
    const rows = loops.sortPartition(partition);
    if (rows < 0) throw new OutOfMemory();
    if (kind === 'first-time') {
      const { cohorts, periods, isSameEvent } = rules;
      const returned = counts + 4 * cohorts;
      loops.countFirstTime(counts, returned, rows, cohorts, periods, Number(isSameEvent));
    } else if (!loops.countOrdered(counts, gaps, paths, rows, rules.windowMs))
      throw new OutOfMemory();
  }

  /** @param lists addresses, of the gaps of all threads, which have counted */
  valuesOf(lists: readonly number[], ranks: Ranks): number[] {
    return valuesOfRanks(ranks, ({ low, shift }) => {
      this.#numbers.fill(0);
      for (const list of lists) this.#loops.countGaps(list, this.#own.numbers, RANGES, low, shift);
      return this.#numbers.slice();
    });
  }
}

interface Sizes {
  /** How many numbers each of the counts has. */
  counts: number[];
  lists: number;
}

/** @throws RangeError where they have no room */
function sizesOf({ kind, rules }: Counting): Sizes {
  const { counts, lists }: Sizes =
    kind === 'ordered'
      ? { counts: [rules.steps + 1], lists: rules.steps - 1 }
      : { counts: [rules.cohorts, rules.cohorts * rules.periods], lists: 0 };
  const size = counts.reduce((sum, one) => sum + one, 0);
  if (size > MAX_COUNTS || lists >= MAX_STEPS)
    throw new RangeError(`${size} counts and ${lists} lists have no room`);
  return { counts, lists };
}

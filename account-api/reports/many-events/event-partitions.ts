import {
  PAGE_ROWS,
  PAGE_SHIFT,
  pagesOf,
  pageTaker,
  ROW_NUMBERS,
  type EventMemory,
} from './event-memory.ts';

/** People are spread over this many partitions by the upper bits of their hash. */
export const PARTITIONS = 512;
const PARTITION_SHIFT = 32 - Math.log2(PARTITIONS);
const NONE = -1;

/** Where the events of partitions are, so that another thread can read them. */
export interface PartitionedEvents {
  /** By partition: its first page, -1 without events. */
  first: Int32Array;
  /** By page: the next one of its partition, -1 behind the last. */
  next: Int32Array;
  /** By partition: how many. */
  counts: Int32Array;
}

/** Writes events into partitions of people, in the order in which they come. */
export class EventPartitions {
  readonly #memory: Uint32Array;
  readonly #takePage: () => number;
  /** By partition: the row that is written next, and the one behind its page. */
  readonly #ends = new Int32Array(PARTITIONS);
  readonly #limits = new Int32Array(PARTITIONS);
  readonly #events: PartitionedEvents;

  constructor(memory: EventMemory) {
    this.#memory = new Uint32Array(memory.bytes);
    this.#takePage = pageTaker(memory);
    this.#events = {
      first: new Int32Array(PARTITIONS).fill(NONE),
      next: new Int32Array(pagesOf(memory)),
      counts: new Int32Array(PARTITIONS),
    };
  }

  /**
   * @param people hashes, and @param keys both as two numbers, the lower half first
   * @throws OutOfMemory
   */
  add(people: Uint32Array, keys: Uint32Array, rows: number): void {
    let row = this.#addRows(people, keys, { from: 0, to: rows });
    while (row < rows) {
      this.#addPage((people[2 * row + 1] as number) >>> PARTITION_SHIFT);
      row = this.#addRows(people, keys, { from: row, to: rows });
    }
  }

  /**
   * Answers the row for which there is no page. It calls nothing in between: after a call V8 reads
   * again where each array lies, for each row.
   */
  #addRows(
    people: Uint32Array,
    keys: Uint32Array,
    { from, to }: { from: number; to: number },
  ): number {
    const [memory, ends, limits] = [this.#memory, this.#ends, this.#limits];
    const { counts } = this.#events;
    for (let row = from; row < to; row++) {
      const upper = people[2 * row + 1] as number;
      const partition = upper >>> PARTITION_SHIFT;
      const end = ends[partition] as number;
      if (end === limits[partition]) return row;
      const at = ROW_NUMBERS * end;
      memory[at] = people[2 * row] as number;
      memory[at + 1] = upper;
      memory[at + 2] = keys[2 * row] as number;
      memory[at + 3] = keys[2 * row + 1] as number;
      ends[partition] = end + 1;
      (counts[partition] as number)++;
    }
    return to;
  }

  /** A page for the next rows of a partition. */
  #addPage(partition: number): void {
    const { first, next } = this.#events;
    const page = this.#takePage();
    next[page] = NONE;
    const end = this.#ends[partition] as number;
    if (first[partition] === NONE) first[partition] = page;
    else next[(end - 1) >>> PAGE_SHIFT] = page;
    this.#ends[partition] = page << PAGE_SHIFT;
    this.#limits[partition] = (page + 1) << PAGE_SHIFT;
  }

  get events(): PartitionedEvents {
    return this.#events;
  }
}

/** Calls back with the rows of each page of a partition: from the first one to before the last. */
export function eachPage(
  { first, next, counts }: PartitionedEvents,
  partition: number,
  onRows: (from: number, to: number) => void,
): void {
  let left = counts[partition] ?? 0;
  for (let page = first[partition] ?? NONE; page !== NONE; page = next[page] ?? NONE) {
    const from = page << PAGE_SHIFT;
    onRows(from, from + Math.min(PAGE_ROWS, left));
    left -= PAGE_ROWS;
  }
}

import { RANGES } from './order-statistics.ts';

/** People are spread over this many partitions (wasm/partitions.as.ts). */
export const PARTITIONS = 512;
/** Statements whose events a thread reads at most. */
export const SLICES_PER_THREAD = 2;
/** Rows that a thread hands to the loops at once; ClickHouse sends 65,505 in a block at most. */
export const MAX_ROWS = 2 ** 16;
/** Counts of people of a thread. */
export const MAX_COUNTS = 2 ** 16;
/** Steps of a funnel, and more than there are. */
export const MAX_STEPS = 16;
/** Bytes of a list of pages: of a partition, or of gaps. */
export const LIST_BYTES = 8;

/** As in wasm/pages.as.ts. */
const PAGE_BYTES = 2 ** 13;
/** What two threads write is not in one line of the cache. */
const LINE_BYTES = 64;

/** Below this no report is counted here, bytes: some pages of each partition. */
export const MIN_MEMORY_BYTES = 2 ** 24;
/** More would exceed 4 GiB with what threads need besides, bytes. */
export const MAX_MEMORY_BYTES = 2.5 * 2 ** 30;

interface Range {
  from: number;
  to: number;
}

/** Memory that only one thread writes; addresses. */
interface ThreadLayout {
  state: number;
  /** MAX_COUNTS numbers of 4 bytes. */
  counts: number;
  /** MAX_STEPS lists of gaps. */
  gaps: number;
  paths: number;
  /** RANGES numbers of 4 bytes. */
  numbers: number;
  /** MAX_ROWS hashes, and as many keys, of 8 bytes. */
  people: number;
  keys: number;
  /** For the rows of a partition. */
  rows: Range;
}

/** Addresses in the memory of a report; 0 is none. */
export interface Layout {
  /** 4 bytes: the address of the next free page. */
  pool: number;
  /** 4 bytes: the next partition that a thread counts. */
  turn: number;
  /** By slice and partition: LIST_BYTES. */
  lists: number;
  slices: number;
  threads: ThreadLayout[];
  /** From 0 on: what a report begins with is 0. */
  clearedBytes: number;
  pages: Range;
  /** Of all. */
  bytes: number;
}

/** @param eventBytes of which whole pages are used */
export function layoutOf(eventBytes: number, threads: number): Layout {
  let end = LINE_BYTES;
  const place = (bytes: number, alignment = LINE_BYTES): number => {
    const at = Math.ceil(end / alignment) * alignment;
    end = at + bytes;
    return at;
  };
  const whole = (bytes: number): number => Math.floor(bytes / PAGE_BYTES) * PAGE_BYTES;
  const [pool, turn] = [place(4), place(4)];
  const slices = threads * SLICES_PER_THREAD;
  const lists = place(slices * PARTITIONS * LIST_BYTES);
  const own = Array.from({ length: threads }, () => ({
    state: place(16),
    gaps: place(MAX_STEPS * LIST_BYTES),
  }));
  const clearedBytes = end;
  const pages = { from: place(whole(eventBytes), PAGE_BYTES), to: end };
  const rowBytes = whole(eventBytes / 2 / threads);
  const rest = own.map((addresses) => ({
    ...addresses,
    counts: place(4 * MAX_COUNTS),
    paths: place(2 * 8 * MAX_STEPS),
    numbers: place(4 * RANGES),
    people: place(8 * MAX_ROWS),
    keys: place(8 * MAX_ROWS),
    rows: { from: place(rowBytes), to: end },
  }));
  return { pool, turn, lists, slices, threads: rest, clearedBytes, pages, bytes: end };
}

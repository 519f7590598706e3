/** Rows of a page; a partition is a list of pages. */
export const PAGE_ROWS = 512;
export const PAGE_SHIFT = Math.log2(PAGE_ROWS);
/** Numbers of 32 bits of a row: the person's hash and the key, the lower half of each first. */
export const ROW_NUMBERS = 4;
const PAGE_BYTES = PAGE_ROWS * ROW_NUMBERS * 4;
/** Pages that a thread takes at a time. */
const EXTENT_PAGES = 256;
/** Below this no report is counted here, bytes: an extent for each of some threads. */
export const MIN_MEMORY_BYTES = 2 ** 24;
/** Row numbers stay whole numbers of 32 bits, bytes. */
export const MAX_MEMORY_BYTES = 2 ** 32;

/** There is no memory for more events. */
export class OutOfMemory extends Error {
  override name = 'OutOfMemory';
}

/**
 * Memory for the events of one report, which threads share. The system gives pages of it when they
 * are first written.
 */
export interface EventMemory {
  bytes: SharedArrayBuffer;
  /** One Int32: pages that are in use. */
  used: SharedArrayBuffer;
}

/** @param bytes of which whole pages are used */
export function newMemory(bytes: number): EventMemory {
  const whole = Math.floor(bytes / PAGE_BYTES) * PAGE_BYTES;
  return { bytes: new SharedArrayBuffer(whole), used: new SharedArrayBuffer(4) };
}

/** All pages are free again. */
export function clearMemory({ used }: EventMemory): void {
  new Int32Array(used)[0] = 0;
}

/** Pages of the memory. */
export function pagesOf({ bytes }: EventMemory): number {
  return bytes.byteLength / PAGE_BYTES;
}

/** Takes one page after the other. @throws OutOfMemory */
export function pageTaker(memory: EventMemory): () => number {
  const [used, pages] = [new Int32Array(memory.used), pagesOf(memory)];
  let [next, end] = [0, 0];
  return () => {
    if (next === end) {
      next = Atomics.add(used, 0, EXTENT_PAGES);
      end = next + EXTENT_PAGES;
      if (end > pages) throw new OutOfMemory('no memory for the events of this report');
    }
    return next++;
  };
}

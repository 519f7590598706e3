/**
 * Pages come from a pool that all threads share, and make up lists: the first 4 bytes of a page are
 * the address of the next one of its list, 0 behind the last.
 */

export const PAGE: u32 = 8192;
/** A thread takes so much from the pool at once, bytes. */
const EXTENT: u32 = 256 * PAGE;

/** Of the state of a thread: the next page of its extent, the end of that, and its free pages. */
const EXTENT_END: usize = 4;
const FREE: usize = 8;

let pool: u32 = 0;
let poolEnd: u32 = 0;
let state: u32 = 0;

export function usePages(sharedPool: u32, end: u32, threadState: u32): void {
  pool = sharedPool;
  poolEnd = end;
  state = threadState;
}

/** A page without a next one, or 0 where there is none. */
export function takePage(): u32 {
  const free = load<u32>(state, FREE);
  if (free != 0) {
    store<u32>(state, load<u32>(free), FREE);
    store<u32>(free, 0);
    return free;
  }
  if (load<u32>(state) == load<u32>(state, EXTENT_END) && !takeExtent()) return 0;
  const page = load<u32>(state);
  store<u32>(state, page + PAGE);
  store<u32>(page, 0);
  return page;
}

/** Makes a page free for lists of this thread. */
export function freePage(page: u32): void {
  store<u32>(page, load<u32>(state, FREE));
  store<u32>(state, page, FREE);
}

function takeExtent(): bool {
  for (;;) {
    const from = atomic.load<u32>(pool);
    const bytes = min(EXTENT, poolEnd - from);
    if (bytes == 0) return false;
    if (atomic.cmpxchg<u32>(pool, from, from + bytes) != from) continue;
    store<u32>(state, from);
    store<u32>(state, from + bytes, EXTENT_END);
    return true;
  }
}

/**
 * The loops over the events of large reports, in AssemblyScript: they write events into partitions
 * of people, put each person's events together, and count them. Each thread has an instance, and
 * all instances share one memory, of which event-memory.ts decides the layout.
 *
 * Addresses are unsigned numbers of 32 bits. Each function says where memory does not suffice; none
 * writes outside of what it is given. `node deploy/generate/wasm.ts` compiles
 * these files to count-events.wasm.
 */
import { usePages } from './pages.as';
import { useLists } from './partitions.as';
import { useScratch } from './scratch.as';

export { addRows } from './partitions.as';
export { sortPartition } from './sort-people.as';
export { countOrdered } from './ordered.as';
export { countGaps } from './gaps.as';
export { countFirstTime } from './first-time.as';

/**
 * Called once, before all others.
 * @param pool 4 bytes that are the same for all threads: the address of the next free page
 * @param poolEnd where the pages end
 * @param state 16 bytes of this thread, which are 0 at the beginning of a report
 * @param lists those of the partitions of each slice, one slice behind the other
 * @param numbers memory for 2^16 numbers of 4 bytes
 * @param rows memory for the rows of a partition, up to `rowsEnd`
 */
export function begin(
  pool: u32,
  poolEnd: u32,
  state: u32,
  lists: u32,
  slices: u32,
  numbers: u32,
  rows: u32,
  rowsEnd: u32,
): void {
  usePages(pool, poolEnd, state);
  useLists(lists, slices);
  useScratch(numbers, rows, rowsEnd);
}

/** Memory of a thread that is written over for each partition. */

/** Numbers of 4 bytes: 2^NUMBER_BITS, which are counts of buckets, then where these begin. */
export let numbers: u32 = 0;
/** Rows of a partition in the order of their people, and the end of the memory for them. */
export let sorted: u32 = 0;
export let sortedEnd: u32 = 0;

export function useScratch(numbersFrom: u32, rows: u32, rowsEnd: u32): void {
  numbers = numbersFrom;
  sorted = rows;
  sortedEnd = rowsEnd;
}

/** The rows of a partition in the order of their people. */
import { freePage } from './pages.as';
import {
  beginOf,
  endOf,
  listOf,
  pageOf,
  PARTITION_BITS,
  ROW,
  rowsOf,
  slices,
} from './partitions.as';
import { sortRows } from './sort-rows.as';
import { numbers, sorted, sortedEnd } from './scratch.as';

/** Rows are spread over 2^4 to 2^15 buckets, by the hash's bits below those of the partition. */
const MIN_BITS: u32 = 4;
const MAX_BITS: u32 = 15;
/** Rows of a bucket that are sorted by insertion. */
const FEW: u32 = 256;

let bucketShift: u64 = 0;
let bucketsEnd: u32 = 0;

/**
 * Moves the rows of a partition to `sorted`, in the order of their people, and frees its pages.
 * Answers how many there are, or -1 where they have no room: then nothing is moved.
 */
export function sortPartition(partition: u32): i32 {
  const rows = rowsOf(partition);
  if (rows == 0) return 0;
  if (rows > (sortedEnd - sorted) / ROW) return -1;
  const bits = max(MIN_BITS, min(MAX_BITS, 32 - clz<u32>(rows - 1)));
  bucketShift = 64 - bits;
  bucketsEnd = numbers + (4 << bits);
  memory.fill(numbers, 0, bucketsEnd - numbers);
  for (let slice: u32 = 0; slice < slices; slice++) countRows(listOf(slice, partition));
  const largest = placeBuckets();
  for (let slice: u32 = 0; slice < slices; slice++) moveRows(listOf(slice, partition));
  if (largest > FEW) sortLargeBuckets();
  sortNearlySorted(sorted + rows * ROW);
  return rows;
}

/** The number of the bucket of a person. */
function bucketOf(person: u64): u32 {
  return numbers + 4 * <u32>((person << PARTITION_BITS) >>> bucketShift);
}

/** How many rows of a list each bucket gets. */
function countRows(list: u32): void {
  for (let from = beginOf(list); from != 0;) {
    const page = pageOf(from);
    const end = endOf(list, page);
    for (let row = from + ROW; row < end; row += ROW) {
      const bucket = bucketOf(load<u64>(row));
      store<u32>(bucket, load<u32>(bucket) + 1);
    }
    from = load<u32>(page);
  }
}

/** Puts in place of each bucket's count where its rows begin; answers the largest count. */
function placeBuckets(): u32 {
  let at = sorted;
  let largest: u32 = 0;
  for (let bucket = numbers; bucket < bucketsEnd; bucket += 4) {
    const rows = load<u32>(bucket);
    store<u32>(bucket, at);
    at += rows * ROW;
    largest = max(largest, rows);
  }
  return largest;
}

/** Moves the rows of a list to their buckets. Afterwards each bucket says where it ends. */
function moveRows(list: u32): void {
  for (let from = beginOf(list); from != 0;) {
    const page = pageOf(from);
    const end = endOf(list, page);
    for (let row = from + ROW; row < end; row += ROW) {
      const person = load<u64>(row);
      const bucket = bucketOf(person);
      const place = load<u32>(bucket);
      store<u64>(place, person);
      store<u64>(place, load<u64>(row, 8), 8);
      store<u32>(bucket, place + ROW);
    }
    from = load<u32>(page);
    freePage(page);
  }
}

/** Sorts the buckets for which insertion would take too long. */
function sortLargeBuckets(): void {
  let from = sorted;
  for (let bucket = numbers; bucket < bucketsEnd; bucket += 4) {
    const end = load<u32>(bucket);
    const rows = (end - from) / ROW;
    if (rows > FEW && !isOnePerson(from, end)) sortRows(from, rows);
    from = end;
  }
}

function isOnePerson(from: u32, end: u32): bool {
  const person = load<u64>(from);
  for (let row = from + ROW; row < end; row += ROW) if (load<u64>(row) != person) return false;
  return true;
}

/** Sorts all rows by insertion: each is in its bucket already. */
function sortNearlySorted(end: u32): void {
  let before = load<u64>(sorted);
  for (let row = sorted + ROW; row < end; row += ROW) {
    const person = load<u64>(row);
    if (person >= before) {
      before = person;
      continue;
    }
    const key = load<u64>(row, 8);
    let place = row;
    do {
      store<u64>(place, load<u64>(place - ROW));
      store<u64>(place, load<u64>(place - ROW, 8), 8);
      place -= ROW;
    } while (place > sorted && load<u64>(place - ROW) > person);
    store<u64>(place, person);
    store<u64>(place, key, 8);
  }
}

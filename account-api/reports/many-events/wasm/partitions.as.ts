/**
 * Events by partition of people. A row is the hash of the person and the key, 8 bytes each; rows
 * follow in a page from byte ROW on. A slice has for each partition a list of 8 bytes: its first
 * page, and where its next row goes.
 */
import { PAGE, takePage } from './pages.as';

export const ROW: u32 = 16;

/** People are spread over partitions by the upper bits of their hash. */
export const PARTITION_BITS: u32 = 9;
const LIST: u32 = 8;
const LISTS: u32 = LIST << PARTITION_BITS;

let lists: u32 = 0;
export let slices: u32 = 0;

export function useLists(from: u32, count: u32): void {
  lists = from;
  slices = count;
}

/**
 * Adds rows to the partitions of a slice; answers how many, which are fewer where there is no page.
 * @param people hashes, and @param keys 8 bytes each
 */
export function addRows(slice: u32, people: u32, keys: u32, rows: u32): u32 {
  const own = lists + LISTS * slice;
  for (let at: u32 = 0; at < rows; at++) {
    const person = load<u64>(people + 8 * at);
    const list = own + LIST * <u32>(person >>> (64 - PARTITION_BITS));
    let end = load<u32>(list, 4);
    if ((end & (PAGE - 1)) == 0) {
      end = addPage(list, end);
      if (end == 0) return at;
    }
    store<u64>(end, person);
    store<u64>(end, load<u64>(keys + 8 * at), 8);
    store<u32>(list, end + ROW, 4);
  }
  return rows;
}

/** A page for the next rows of a list: where they begin, or 0. */
function addPage(list: u32, end: u32): u32 {
  const page = takePage();
  if (page == 0) return 0;
  if (end != 0) {
    store<u32>(end - PAGE, page);
    return page + ROW;
  }
  // the first pages of partitions begin at different lines of the cache
  const line = (list << 3) & (PAGE / 2 - 1) & ~63;
  store<u32>(list, page + line);
  return page + line + ROW;
}

export function listOf(slice: u32, partition: u32): u32 {
  return lists + LISTS * slice + LIST * partition;
}

/** The first row of a list, less ROW; 0 without rows. */
export function beginOf(list: u32): u32 {
  return load<u32>(list);
}

/** The end of the rows of a page of the list. */
export function endOf(list: u32, page: u32): u32 {
  return load<u32>(page) == 0 ? load<u32>(list, 4) : page + PAGE;
}

export function pageOf(address: u32): u32 {
  return address & ~(PAGE - 1);
}

/** How many rows a partition has in all slices. */
export function rowsOf(partition: u32): u32 {
  let bytes: u32 = 0;
  for (let slice: u32 = 0; slice < slices; slice++) {
    const list = listOf(slice, partition);
    for (let from = beginOf(list); from != 0;) {
      const page = pageOf(from);
      bytes += endOf(list, page) - (from + ROW);
      from = load<u32>(page);
    }
  }
  return bytes / ROW;
}

/**
 * Milliseconds between two steps of paths: 8 bytes each, in pages from byte 8 on. A list has 8
 * bytes: its first page, and where its next gap goes.
 */
import { PAGE, takePage } from './pages.as';

/** False where there is no page for it. */
export function addGap(list: u32, gap: u64): bool {
  let end = load<u32>(list, 4);
  if ((end & (PAGE - 1)) == 0) {
    const page = takePage();
    if (page == 0) return false;
    if (end == 0) store<u32>(list, page);
    else store<u32>(end - PAGE, page);
    end = page + 8;
  }
  store<u64>(end, gap);
  store<u32>(list, end + 8, 4);
  return true;
}

/**
 * Counts the gaps of a list in ranges of 2^shift ms from `low` on; those outside of the ranges are
 * not counted.
 * @param counts a number of 4 bytes for each of `size` ranges
 */
export function countGaps(list: u32, counts: u32, size: u32, low: f64, shift: u32): void {
  const end = load<u32>(list, 4);
  for (let page = load<u32>(list); page != 0; page = load<u32>(page)) {
    const pageEnd = load<u32>(page) == 0 ? end : page + PAGE;
    for (let at = page + 8; at < pageEnd; at += 8) {
      const range = (load<u64>(at) - <u64>low) >>> shift;
      if (range >= size) continue;
      const count = counts + 4 * <u32>range;
      store<u32>(count, load<u32>(count) + 1);
    }
  }
}

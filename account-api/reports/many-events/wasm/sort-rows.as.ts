/** Heapsort of rows by their person: it needs no other memory, and no input makes it slow. */
import { ROW } from './partitions.as';

export function sortRows(from: u32, rows: u32): void {
  for (let root = rows >>> 1; root > 0; root--) siftDown(from, root - 1, rows);
  for (let left = rows - 1; left > 0; left--) {
    const last = from + left * ROW;
    const person = load<u64>(last);
    const key = load<u64>(last, 8);
    store<u64>(last, load<u64>(from));
    store<u64>(last, load<u64>(from, 8), 8);
    store<u64>(from, person);
    store<u64>(from, key, 8);
    siftDown(from, 0, left);
  }
}

function siftDown(from: u32, at: u32, rows: u32): void {
  let root = at;
  const person = load<u64>(from + root * ROW);
  const key = load<u64>(from + root * ROW, 8);
  for (;;) {
    let child: u32 = 2 * root + 1;
    if (child >= rows) break;
    if (child + 1 < rows && load<u64>(from + (child + 1) * ROW) > load<u64>(from + child * ROW))
      child++;
    if (load<u64>(from + child * ROW) <= person) break;
    store<u64>(from + root * ROW, load<u64>(from + child * ROW));
    store<u64>(from + root * ROW, load<u64>(from + child * ROW, 8), 8);
    root = child;
  }
  store<u64>(from + root * ROW, person);
  store<u64>(from + root * ROW, key, 8);
}

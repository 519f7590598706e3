/** Sorts keys of 8 bytes. */

/** Keys that are sorted by insertion where there are few, and by merging runs of RUN where not. */
export const FEW: u32 = 32;
const RUN: u32 = 8 * 8;

/** @param other memory for as many keys */
export function sortKeys(from: u32, end: u32, other: u32): void {
  if (end - from > FEW * 8) sortByMerging(from, end, other);
  else sortFewKeys(from, end);
}

export function sortFewKeys(from: u32, end: u32): void {
  for (let at = from + 8; at < end; at += 8) {
    const key = load<u64>(at);
    let place = at;
    for (; place > from && load<u64>(place - 8) > key; place -= 8)
      store<u64>(place, load<u64>(place - 8));
    store<u64>(place, key);
  }
}

function sortByMerging(from: u32, end: u32, other: u32): void {
  const size = end - from;
  for (let at = from; at < end; at += RUN) sortFewKeys(at, min(at + RUN, end));
  let source = from;
  let target = other;
  for (let width = RUN; width < size; width *= 2) {
    for (let at: u32 = 0; at < size; at += 2 * width) {
      const middle = min(at + width, size);
      merge(source + at, source + middle, source + min(at + 2 * width, size), target + at);
    }
    const swapped = source;
    source = target;
    target = swapped;
  }
  if (source != from) memory.copy(from, source, size);
}

/** Merges the sorted keys from `one` to `middle` with those from there to `end`. */
function merge(one: u32, middle: u32, end: u32, target: u32): void {
  let other = middle;
  while (one < middle && other < end) {
    const left = load<u64>(one);
    const right = load<u64>(other);
    const isRight = right < left;
    store<u64>(target, isRight ? right : left);
    other += isRight ? 8 : 0;
    one += isRight ? 0 : 8;
    target += 8;
  }
  if (one < middle) memory.copy(target, one, middle - one);
  if (other < end) memory.copy(target, other, end - other);
}

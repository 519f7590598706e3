/**
 * The counted paths of the ordered funnel, for people of whose events each matches one step. Of the
 * paths of a length, the one that starts latest can be continued best; the counted path is the
 * longest that ends within the window of its start, the first of them to end. It begins at the
 * earliest of the simultaneous starts, and takes the earliest next event of each step
 * (ordered-sql.ts says the same of arrays).
 *
 * A key is: time of the event in ms, from 1 on, | the step that it matches, one bit of these.
 */
import { addGap } from './gaps.as';
import { ROW } from './partitions.as';
import { numbers, sorted } from './scratch.as';
import { FEW, sortFewKeys, sortKeys } from './sort-keys.as';

const STEP_BITS: u32 = 12;
const STEPS: u32 = (1 << STEP_BITS) - 1;
const FIRST_STEP: u64 = 1;
const SECOND_STEP: u64 = 2;
/** A person's keys are spread over at most 2^15 ranges of time. */
const MAX_BITS: u32 = 15;

/** Of `paths`: the start of the path of each length that was the first to end in its window. */
const ENDED: u32 = 8 * 16;
/** So far before every event that no window is as long. */
const NO_START: u64 = 0 - (1 << 62);

let gaps: u32 = 0;
let paths: u32 = 0;
let windowMs: u64 = 0;
let lacksPage: bool = false;

/**
 * Counts the paths of the people in `sorted`. False where there is no page for their gaps.
 * @param people by length of the path, 4 bytes each
 * @param gapLists by length - 1: 8 bytes each
 * @param pathsOfPerson 256 bytes: the latest start of a path of each length, and ENDED
 */
export function countOrdered(
  people: u32,
  gapLists: u32,
  pathsOfPerson: u32,
  rows: u32,
  window: f64,
): bool {
  gaps = gapLists;
  paths = pathsOfPerson;
  windowMs = <u64>window;
  lacksPage = false;
  const end = sorted + rows * ROW;
  for (let from = sorted; from < end;) {
    const person = load<u64>(from);
    let bits: u32 = 0;
    let first = u64.MAX_VALUE;
    let last: u64 = 0;
    let to = from;
    do {
      const key = load<u64>(to, 8);
      bits |= <u32>key;
      first = min(first, (key & FIRST_STEP) != 0 ? key : u64.MAX_VALUE);
      last = max(last, (key & SECOND_STEP) != 0 ? key : 0);
      to += ROW;
    } while (to < end && load<u64>(to) == person);
    let depth = bits & 1;
    // most people have no second step after a first one, and need no order
    if (first < last) depth = depthOf(from, to, bits & STEPS, first);
    const count = people + 4 * depth;
    store<u32>(count, load<u32>(count) + 1);
    from = to;
  }
  return !lacksPage;
}

/**
 * Length of the path of the person with these rows, of which the keys are written over; adds its
 * gaps. `first` is the earliest event of the first step.
 */
function depthOf(from: u32, to: u32, steps: u32, first: u64): u32 {
  // as far as there is an event for each step
  const reachable = ctz<u32>(~steps);
  const wanted: u32 = (1 << reachable) - 1;
  let end = from;
  let latest: u64 = 0;
  for (let row = from; row < to; row += ROW) {
    const key = load<u64>(row, 8);
    store<u64>(end, key);
    latest = max(latest, key);
    end += i32(((<u32>key) & wanted) != 0) & i32(key >= first) ? 8 : 0;
  }
  for (let length: u32 = 0; length <= reachable; length++) store<u64>(paths + 8 * length, NO_START);
  if (end - from > FEW * 8) return depthOfMany(from, end, reachable, first, latest);
  sortFewKeys(from, end);
  const depth = continuePaths(from, end, 0, reachable);
  if (depth > 1) addGaps(from, end, depth);
  return depth;
}

/**
 * As depthOf(), for many keys: they are spread over ranges of time, and a range is put in order
 * when the path has come to it. The memory behind the keys has room for as many: a row is two.
 */
function depthOfMany(from: u32, end: u32, reachable: u32, first: u64, latest: u64): u32 {
  const bits = min<u32>(30 - clz<u32>((end - from) / 8), MAX_BITS);
  const rangesEnd = numbers + (4 << bits);
  spreadByTime(from, end, first, latest, bits);
  let depth: u32 = 0;
  let at = end;
  for (let range = numbers; range < rangesEnd && depth < reachable; range += 4) {
    const to = load<u32>(range);
    sortKeys(at, to, from);
    depth = continuePaths(at, to, depth, reachable);
    at = to;
  }
  if (depth > 1) addGaps(end, at, depth);
  return depth;
}

/** Moves keys behind `end`, by range of time; afterwards `numbers` say where each range ends. */
function spreadByTime(from: u32, end: u32, first: u64, latest: u64, bits: u32): void {
  const width: u32 = 64 - <u32>clz<u64>(latest - first);
  const shift: u64 = width > bits ? width - bits : 0;
  const rangesEnd = numbers + (4 << bits);
  memory.fill(numbers, 0, rangesEnd - numbers);
  for (let at = from; at < end; at += 8) {
    const range = numbers + 4 * <u32>((load<u64>(at) - first) >>> shift);
    store<u32>(range, load<u32>(range) + 8);
  }
  let place = end;
  for (let range = numbers; range < rangesEnd; range += 4) {
    const bytes = load<u32>(range);
    store<u32>(range, place);
    place += bytes;
  }
  for (let at = from; at < end; at += 8) {
    const key = load<u64>(at);
    const range = numbers + 4 * <u32>((key - first) >>> shift);
    const target = load<u32>(range);
    store<u64>(target, key);
    store<u32>(range, target + 8);
  }
}

/** The length that is reached after further keys, which are in order. */
function continuePaths(from: u32, end: u32, before: u32, reachable: u32): u32 {
  let depth = before;
  for (let at = from; at < end; at += 8) {
    const key = load<u64>(at);
    const time = key >>> STEP_BITS;
    const step = ctz<u32>(<u32>key);
    // a path of one step starts with the event
    store<u64>(paths, time);
    const start = load<u64>(paths + 8 * step);
    store<u64>(paths + 8 * step, start, 8);
    if (step < depth || time - start > windowMs) continue;
    store<u64>(paths + ENDED + 8 * step, start);
    depth = step + 1;
    if (depth == reachable) break;
  }
  return depth;
}

/** Walks the counted path of the person with these keys. */
function addGaps(from: u32, to: u32, depth: u32): void {
  const start = load<u64>(paths + ENDED + 8 * (depth - 1));
  let before = start;
  let next: u32 = 0;
  for (let at = from; next < depth && at < to; at += 8) {
    const key = load<u64>(at);
    const time = key >>> STEP_BITS;
    if (ctz<u32>(<u32>key) != next || time < start) continue;
    if (next > 0 && !addGap(gaps + 8 * (next - 1), time - before)) lacksPage = true;
    before = time;
    next++;
  }
}

/**
 * First-time retention where neither values nor ties matter: a person's first start is a minimum,
 * and what they have besides are the periods of their returns (first-time-sql.ts says the same).
 *
 * A key is: time in ms since the first cohort's begin + 1 | position of the period + 1 (12 bits) |
 * is a return | is a start. Both are 0 for a start before the first cohort.
 */
import { ROW } from './partitions.as';
import { sorted } from './scratch.as';

const START: u64 = 1;
const RETURN: u64 = 2;
const PERIOD_SHIFT: u32 = 2;
const PERIODS: u32 = 4095;
const TIME_SHIFT: u64 = 14;

/**
 * Counts the people in `sorted`.
 * @param members by cohort, and @param returned by cohort * periods + period, 4 bytes each
 * @param periods of a cohort, its own included: 64 at most
 * @param isSameEvent starts are returns, and returns starts
 */
export function countFirstTime(
  members: u32,
  returned: u32,
  rows: u32,
  cohorts: u32,
  periods: u32,
  isSameEvent: bool,
): void {
  const end = sorted + rows * ROW;
  for (let from = sorted; from < end;) {
    const person = load<u64>(from);
    let first: u64 = u64.MAX_VALUE;
    let to = from;
    do {
      const key = load<u64>(to, 8);
      const start = (key & START) == 0 ? u64.MAX_VALUE : key;
      first = min(first, start);
      to += ROW;
    } while (to < end && load<u64>(to) == person);
    const cohort = periodOf(first) - 1;
    // nobody of a cohort: no start, or the first one before all of them
    if (first != u64.MAX_VALUE && cohort < cohorts) {
      addOne(members + 4 * cohort);
      const own = returned + 4 * cohort * periods;
      let bits = returnsOf(from, to, first, periods, isSameEvent);
      for (; bits != 0; bits &= bits - 1) addOne(own + 4 * <u32>ctz<u64>(bits));
    }
    from = to;
  }
}

/** The periods of the person's returns, relative to the first start, as bits. */
function returnsOf(from: u32, to: u32, first: u64, periods: u32, isSameEvent: bool): u64 {
  const own = periodOf(first);
  // where starts are returns, the first start is not its own: its period needs another one
  const earliest = isSameEvent ? 0 : first >>> TIME_SHIFT;
  let bits: u64 = 0;
  let ownReturns: u32 = 0;
  for (let row = from; row < to; row += ROW) {
    const key = load<u64>(row, 8);
    const later = periodOf(key) - own;
    const counts = (key & RETURN) != 0 && later < periods && key >>> TIME_SHIFT >= earliest;
    bits |= counts ? (<u64>1) << later : 0;
    ownReturns += counts && later == 0 ? 1 : 0;
  }
  return isSameEvent && ownReturns < 2 ? bits & ~1 : bits;
}

/** Position of the period + 1. */
function periodOf(key: u64): u32 {
  return ((<u32>key) >>> PERIOD_SHIFT) & PERIODS;
}

function addOne(count: u32): void {
  store<u32>(count, load<u32>(count) + 1);
}

import type { FirstTimeRules } from '../../../many-events/many-events.ts';
import { KEY_PERIOD_SHIFT, KEY_TIME_SHIFT } from '../retention-of-many.ts';

/** What many-events/wasm/first-time.as.ts counts, from the keys of each person. */
export function countFirstTime(
  people: Iterable<number[]>,
  { cohorts, periods, isSameEvent }: FirstTimeRules,
): { counts: number[][]; lists: number[][] } {
  const members = new Array<number>(cohorts).fill(0);
  const returned = new Array<number>(cohorts * periods).fill(0);
  for (const keys of people) {
    const events = keys.toSorted((a, b) => a - b).map(eventOf);
    const first = events.find(({ isStart }) => isStart);
    const cohort = (first?.period ?? 0) - 1;
    if (!first || cohort < 0 || cohort >= cohorts) continue;
    members[cohort] = (members[cohort] ?? 0) + 1;
    for (let later = 0; later < periods; later++) {
      const found = events.filter(
        ({ isReturn, period, time }) =>
          isReturn && period === first.period + later && (isSameEvent || time >= first.time),
      );
      // the first start alone is not its own return
      if (found.length <= (isSameEvent && later === 0 ? 1 : 0)) continue;
      const at = cohort * periods + later;
      returned[at] = (returned[at] ?? 0) + 1;
    }
  }
  return { counts: [members, returned], lists: [] };
}

function eventOf(key: number) {
  const time = Math.floor(key / 2 ** KEY_TIME_SHIFT);
  const below = key - time * 2 ** KEY_TIME_SHIFT;
  return {
    time,
    period: below >>> KEY_PERIOD_SHIFT,
    isReturn: (below & 2) !== 0,
    isStart: (below & 1) !== 0,
  };
}

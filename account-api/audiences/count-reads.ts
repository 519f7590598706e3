import type { Audience } from '../../audiences/definition.ts';
import { METRIC_SQL } from '../../audiences/attribute-sql.ts';
import type { MovingWindow, ReportReads } from '../reports/cache/reads.ts';

const DAY = 86_400_000;
/** An event may be of any time after the begin of a window: months of parts end here. */
const END = Date.UTC(2200, 0);

/**
 * What the count of an audience reads; undefined: it depends on more than events, profiles and
 * aliases (devices), or changes with time alone (bands).
 */
export function countReads(audience: Audience, now: number): ReportReads | undefined {
  const windows: MovingWindow[] = [];
  /** Events of all times. */
  const names = new Set<string>();
  const others: Audience[] = [];
  const visit = (one: Audience): void => {
    switch (one.kind) {
      case 'all':
      case 'any':
        one.of.forEach(visit);
        break;
      case 'not':
        visit(one.of);
        break;
      case 'band':
        others.push(one);
        break;
      case 'attribute':
        if (one.name === 'has_push') others.push(one);
        break;
      case 'metric':
        windows.push({ days: METRIC_SQL[one.name].days, events: undefined });
        break;
      case 'event':
        if (one.withinDays === undefined) names.add(one.event);
        else windows.push({ days: one.withinDays, events: [one.event] });
        break;
      case 'trait':
    }
  };
  visit(audience);
  if (others.length > 0) return undefined;
  const readsAny = windows.some(({ events }) => events === undefined);
  const begins = windows.map(({ days }) => now - days * DAY);
  return {
    events: readsAny ? undefined : [...names, ...windows.flatMap(({ events }) => events ?? [])],
    needed: undefined,
    from: names.size > 0 ? 0 : Math.max(0, Math.min(now, ...begins)),
    to: END,
    profiles: true,
    windows: byDays(windows),
  };
}

/** One window for each number of days. */
function byDays(windows: readonly MovingWindow[]): MovingWindow[] {
  return [...Map.groupBy(windows, ({ days }) => days)].map(([days, same]) => ({
    days,
    events: same.some(({ events }) => events === undefined)
      ? undefined
      : [...new Set(same.flatMap(({ events }) => events ?? []))],
  }));
}

import { hasEventValue } from '../../breakdown-sql.ts';
import type { FunnelRow } from '../answer.ts';
import type { FunnelRequest } from '../request.ts';
import { anyPath } from './any-path.ts';
import type { EventColumns } from './compile-events.ts';
import type { FunnelEvents, Span } from './funnel-events.ts';
import { orderedPath } from './ordered-path.ts';
import { strictPath } from './strict-path.ts';
import { brokenDownRows, wholeRows, type Counted } from './count-paths.ts';

/**
 * The rows that the statement of `compileFunnel` answers, from the events that it would read: each
 * person's together, and in total order. Time grows with events × steps.
 */
export function computeRows(request: FunnelRequest, columns: EventColumns): FunnelRow[] {
  const { t: times, value } = columns;
  const step = request.breakdown?.step ?? 1;
  const valueAt = (path: readonly number[], from: number): string | null => {
    const at = path[step - 1];
    if (at === undefined) return null;
    return value?.[hasEventValue(request) ? at : from] ?? null;
  };
  const paths = countedPaths(request, columns).map(({ from, path }): Counted => ({
    times: path.map((at) => times[at] ?? 0),
    value: valueAt(path, from),
  }));
  return request.breakdown ? brokenDownRows(paths, request.breakdown.limit) : wholeRows(paths);
}

/** A person with a path: the position of the first event, and those of the path. */
export interface PersonPath {
  person: string;
  from: number;
  path: number[];
}

/** The counted paths of all who have one. */
export function countedPaths(request: FunnelRequest, columns: EventColumns): PersonPath[] {
  const { person: people, t: times, bits } = columns;
  const pathOf = pathSearch(request);
  const paths: PersonPath[] = [];
  for (let from = 0; from < people.length;) {
    const person = people[from] ?? '';
    let to = from + 1;
    while (to < people.length && people[to] === person) to++;
    const path = pathOf({ times, bits }, { from, to });
    if (path.length > 0) paths.push({ person, from, path });
    from = to;
  }
  return paths;
}

function pathSearch({
  order,
  steps,
  windowMs,
  range,
}: FunnelRequest): (events: FunnelEvents, span: Span) => number[] {
  const rules = { count: steps.length, windowMs };
  switch (order) {
    case 'ordered':
      return (events, span) => orderedPath(events, span, rules);
    case 'strict':
      return (events, span) => strictPath(events, span, rules);
    case 'any': {
      // as in the statement: times begin with 1 at the start of the range, or in 1970
      const end = Math.max(0, range.to) - Math.max(0, range.from) + 1;
      return (events, span) => anyPath(events, span, { ...rules, end });
    }
  }
}

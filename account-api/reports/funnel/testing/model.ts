import { isPlatformEvent } from '../../../../events/event-name.ts';
import type { EventRow } from '../../../../schemas/records.ts';
import {
  breakdownGroups,
  breakdownText,
  compareEvents,
  eventsByPerson,
  matches,
  type Dataset,
} from '../../testing/dataset.ts';
import type { FunnelAnswer, FunnelStepAnswer } from '../answer.ts';
import type { FunnelRequest } from '../request.ts';

type Path = readonly EventRow[];

/**
 * A literal implementation of (reports: Funnel): lists every path of every person, keeps the
 * longest, and of those the counted one. Exponential in the events of a person: it is simple enough
 * to be verified by reading, and the SQL is compared with it.
 */
export function funnelModel(dataset: Dataset, request: FunnelRequest): Omit<FunnelAnswer, 'meta'> {
  const paths: Path[] = [];
  for (const events of eventsByPerson(dataset, request).values()) {
    const path = countedPath(allPaths(dataset, request, events));
    if (path) paths.push(path);
  }
  const steps = stepAnswers(request, paths);
  const { breakdown } = request;
  if (!breakdown) return { steps };
  const groups = breakdownGroups(paths, {
    limit: breakdown.limit,
    textOf(path) {
      const event = path[breakdown.step - 1];
      return event ? breakdownText(dataset, breakdown.target, event) : null;
    },
  });
  return {
    steps,
    breakdown: groups.map(({ members, ...listed }) => ({
      ...listed,
      steps: stepAnswers(request, members),
    })),
  };
}

function allPaths(dataset: Dataset, request: FunnelRequest, events: readonly EventRow[]): Path[] {
  if (request.order === 'any') return anyPaths(dataset, request, events);
  const found: Path[] = [];
  const extend = (path: Path): void => {
    if (path.length > 0) found.push(path);
    const step = request.steps[path.length];
    if (!step) return;
    for (const event of events) {
      if (matches(dataset, step, event) && canFollow({ dataset, request, events, path, event }))
        extend([...path, event]);
    }
  };
  extend([]);
  return found;
}

interface Extension {
  dataset: Dataset;
  request: FunnelRequest;
  events: readonly EventRow[];
  path: Path;
  event: EventRow;
}

function canFollow({ dataset, request, events, path, event }: Extension): boolean {
  const first = path[0];
  const last = path.at(-1);
  if (!first || !last) return isInRange(request, event);
  if (
    path.includes(event) ||
    event.timestamp < last.timestamp ||
    event.timestamp - first.timestamp > request.windowMs
  )
    return false;
  const step = path.length;
  const isBroken = request.exclude.some(
    (exclusion) =>
      exclusion.fromStep <= step &&
      step < exclusion.toStep &&
      events.some(
        (x) =>
          last.timestamp < x.timestamp &&
          x.timestamp < event.timestamp &&
          matches(dataset, exclusion, x),
      ),
  );
  return !isBroken && (request.order === 'ordered' || followsDirectly({ events, last, event }));
}

function followsDirectly({
  events,
  last,
  event,
}: {
  events: readonly EventRow[];
  last: EventRow;
  event: EventRow;
}): boolean {
  const sequence = events.filter(
    (one) => ['track', 'page', 'screen'].includes(one.type) && !isPlatformEvent(one.event),
  );
  const at = sequence.indexOf(last);
  return at >= 0 && sequence[at + 1] === event;
}

/**
 * Any order: events in total order, each on a step of its own. A path is its events; which of
 * several steps each matches does not show.
 */
function anyPaths(dataset: Dataset, request: FunnelRequest, events: readonly EventRow[]): Path[] {
  const found: Path[] = [];
  const extend = (path: Path, covered: ReadonlySet<number>): void => {
    if (path.length > 0) found.push(path);
    const first = path[0];
    const last = path.at(-1);
    for (const event of events) {
      const isLater = !last || compareEvents(last, event) < 0;
      const isInTime = first
        ? event.timestamp - first.timestamp <= request.windowMs
        : isInRange(request, event);
      if (!isLater || !isInTime) continue;
      for (const [at, step] of request.steps.entries()) {
        if (!covered.has(at) && matches(dataset, step, event))
          extend([...path, event], new Set([...covered, at]));
      }
    }
  };
  extend([], new Set());
  return found;
}

function isInRange({ range }: FunnelRequest, event: EventRow): boolean {
  return range.from <= event.timestamp && event.timestamp < range.to;
}

/**
 * The longest; among those the one that ends first, then the one that starts last, then the
 * earliest second event, third event, and so on.
 */
function countedPath(paths: readonly Path[]): Path | undefined {
  const depth = paths.reduce((most, path) => Math.max(most, path.length), 0);
  return paths.filter((path) => path.length === depth).sort(comparePaths)[0];
}

function comparePaths(a: Path, b: Path): number {
  const order = (at: number): number => {
    const [one, other] = [a.at(at), b.at(at)];
    return one && other ? compareEvents(one, other) : 0;
  };
  const byMiddle = a.map((_, at) => order(at)).find((difference) => difference !== 0) ?? 0;
  return order(-1) || -order(0) || byMiddle;
}

function stepAnswers(request: FunnelRequest, paths: readonly Path[]): FunnelStepAnswer[] {
  const counts = request.steps.map((_, at) => paths.filter((path) => path.length > at).length);
  return request.steps.map(({ label }, at) => {
    const waits = paths.flatMap((path) => {
      const [before, here] = [path[at - 1], path[at]];
      return before && here ? [here.timestamp - before.timestamp] : [];
    });
    return {
      event: label,
      count: counts[at] ?? 0,
      conversion_from_previous: at === 0 ? 1 : fraction(counts[at], counts[at - 1]),
      conversion_from_first: at === 0 ? 1 : fraction(counts[at], counts[0]),
      median_seconds_from_previous: percentileSeconds(waits, 5),
      p90_seconds_from_previous: percentileSeconds(waits, 9),
    };
  });
}

function fraction(part = 0, whole = 0): number | null {
  return whole === 0 ? null : part / whole;
}

/**
 * Linear interpolation between closest ranks, rank tenths/10 × (n − 1), from milliseconds; one
 * division at the end, so nothing is rounded twice.
 */
function percentileSeconds(milliseconds: readonly number[], tenths: number): number | null {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  const rank = tenths * (sorted.length - 1);
  const low = sorted[Math.floor(rank / 10)];
  if (low === undefined) return null;
  const high = sorted[Math.ceil(rank / 10)] ?? low;
  return (low * 10 + (high - low) * (rank % 10)) / 10_000;
}

import type { EventRow } from '../../../../schemas/records.ts';
import { eventsByPerson, matches, type Dataset } from '../../testing/dataset.ts';
import type { PathNode, PathsAnswer } from '../answer.ts';
import type { PathsRequest } from '../request.ts';

/** Paths literally as docs/reports.md defines them. The SQL is compared with it. */
export function pathsModel(dataset: Dataset, request: PathsRequest): Omit<PathsAnswer, 'meta'> {
  const paths = [...eventsByPerson(dataset, request).values()].flatMap((events) => {
    const path = pathOf(dataset, request, events);
    return path ? [path] : [];
  });
  return { people: paths.length, next: nodesOf(paths, request.limit) };
}

function pathOf(
  dataset: Dataset,
  request: PathsRequest,
  all: readonly EventRow[],
): string[] | undefined {
  const { range, start, windowMs, direction, depth } = request;
  const events = all.filter(
    ({ type, source }) => ['track', 'page', 'screen'].includes(type) && source !== 'platform',
  );
  const at = events.findIndex(
    (event) =>
      event.timestamp >= range.from && event.timestamp < range.to && matches(dataset, start, event),
  );
  const first = events[at];
  if (!first) return undefined;
  const others = direction === 'after' ? events.slice(at + 1) : events.slice(0, at).toReversed();
  const path: string[] = [];
  for (const { event, timestamp } of others) {
    if (Math.abs(timestamp - first.timestamp) > windowMs) break;
    const last = path.at(-1) ?? first.event;
    if (event !== last) path.push(event);
  }
  return path.slice(0, depth);
}

function nodesOf(paths: readonly string[][], limit: number): PathNode[] {
  const groups = Map.groupBy(
    paths.filter(({ length }) => length > 0),
    ([first = '']) => first,
  );
  const sorted = [...groups].sort(
    ([a, as], [b, bs]) => bs.length - as.length || Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  const others = sorted.slice(limit).reduce((sum, [, members]) => sum + members.length, 0);
  return [
    ...sorted.slice(0, limit).map(([event, members]) => ({
      event,
      people: members.length,
      next: nodesOf(
        members.map((path) => path.slice(1)),
        limit,
      ),
    })),
    ...(others > 0 ? [{ event: null, other: true as const, people: others, next: [] }] : []),
  ];
}

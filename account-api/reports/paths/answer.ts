import { reportMeta, type Measured, type ReportMeta } from '../meta.ts';
import { OTHER } from './compile.ts';
import type { PathsRequest } from './request.ts';

/** One row of the compiled statement: people with the same path. */
export interface PathsRow {
  path: string[];
  people: number;
}

export interface PathNode {
  /** Null with `other`: the events past the limit together. */
  event: string | null;
  other?: true;
  people: number;
  next: PathNode[];
}

export interface PathsAnswer {
  /** People with a start in the range. */
  people: number;
  /** The events at the first place; people without one are the difference. */
  next: PathNode[];
  meta: ReportMeta;
}

/** The answer of POST /v1/reports/paths from the rows of compilePaths' statement. */
export function answerPaths(options: {
  request: PathsRequest;
  rows: readonly PathsRow[];
  measured: Measured;
}): PathsAnswer {
  const { request, rows, measured } = options;
  const { range, windowMs, direction } = request;
  const until = direction === 'after' ? range.to + windowMs : range.to;
  return {
    people: rows.reduce((sum, { people }) => sum + people, 0),
    next: nodesAt(rows, 0),
    meta: reportMeta(measured, measured.freshUntil < until),
  };
}

/** Largest first, then by name; the others last. */
export function nodesAt(rows: readonly PathsRow[], place: number): PathNode[] {
  const groups = Map.groupBy(
    rows.filter(({ path }) => path.length > place),
    ({ path }) => path[place] ?? '',
  );
  return [...groups]
    .map(([event, group]): PathNode => ({
      ...(event === OTHER ? { event: null, other: true as const } : { event }),
      people: group.reduce((sum, { people }) => sum + people, 0),
      next: nodesAt(group, place + 1),
    }))
    .toSorted(
      (a, b) =>
        Number(a.other ?? false) - Number(b.other ?? false) ||
        b.people - a.people ||
        Buffer.compare(Buffer.from(a.event ?? ''), Buffer.from(b.event ?? '')),
    );
}

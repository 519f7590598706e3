import type { FunnelRow } from '../answer.ts';
import { quantilePlace } from '../quantile.ts';

/** The times of a counted path, and the value under which it counts. */
export interface Counted {
  /** Milliseconds, of each event. */
  times: readonly number[];
  value: string | null;
}

/** The row of a funnel without a breakdown. */
export function wholeRows(paths: readonly Counted[]): FunnelRow[] {
  return [rowOf('all', paths)];
}

/**
 * The rows of a funnel by value: all, the values with most people up to the limit, the others,
 * those without one. Values of equal size go by their bytes, as ClickHouse sorts.
 */
export function brokenDownRows(paths: readonly Counted[], limit: number): FunnelRow[] {
  if (paths.length === 0) return [];
  const byValue = Map.groupBy(paths, ({ value }) => value);
  const none = byValue.get(null);
  const values = [...byValue]
    .flatMap(([value, own]) => (value === null ? [] : [{ value, own, bytes: Buffer.from(value) }]))
    .sort((a, b) => b.own.length - a.own.length || Buffer.compare(a.bytes, b.bytes));
  const others = values.slice(limit).flatMap(({ own }) => own);
  return [
    rowOf('all', paths),
    ...values.slice(0, limit).map(({ value, own }) => rowOf('value', own, value)),
    ...(others.length > 0 ? [rowOf('other', others)] : []),
    ...(none ? [rowOf('none', none)] : []),
  ];
}

function rowOf(
  kind: FunnelRow['kind'],
  paths: readonly Counted[],
  value: string | null = null,
): FunnelRow {
  const [counts, waits]: [number[], number[][]] = [[], []];
  for (const { times } of paths)
    for (let at = 0; at < times.length; at++) {
      counts[at] = (counts[at] ?? 0) + 1;
      if (at > 0) (waits[at - 1] ??= []).push((times[at] ?? 0) - (times[at - 1] ?? 0));
    }
  return { kind, value, counts: counts.length === 0 ? [0] : counts, waits: waits.map(quantiles) };
}

/** Median and 90th percentile of at least one value. */
function quantiles(values: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort();
  return [quantile(sorted, 0.5), quantile(sorted, 0.9)];
}

function quantile(sorted: Float64Array, level: number): number {
  const { below, part } = quantilePlace(level, sorted.length);
  const low = sorted[below] ?? 0;
  return low + part * ((sorted[below + 1] ?? low) - low);
}

import type { Merges } from '../../../../audiences/people-sql.ts';
import { SqlParams } from '../../../../platform/clickhouse/sql.ts';
import { sliceSql } from '../../many-events/day-slices.ts';
import type { ManyEvents } from '../../many-events/many-events.ts';
import { stepsOverlap } from '../../overlap.ts';
import type { FunnelRow } from '../answer.ts';
import { columnList, firstInstant, funnelRows, GAP_SHIFT } from '../event-arrays.ts';
import { quantilePlace } from '../quantile.ts';
import type { FunnelRequest } from '../request.ts';

const LEVELS = [0.5, 0.9];

/**
 * A funnel whose events threads can count, in place of the statement of `compileFunnel`: its steps
 * are in order, no event matches two of them, and only people are counted.
 */
export function funnelOfMany(request: FunnelRequest, accountId: number): ManyEvents | undefined {
  const { order, exclude, breakdown, steps, range, windowMs } = request;
  const isPlain = order === 'ordered' && exclude.length === 0 && breakdown === undefined;
  if (!isPlain || stepsOverlap(steps)) return undefined;
  return {
    rangeMs: range.to - range.from,
    times: { from: firstInstant(request), to: range.to + windowMs },
    isUneven: false,
    compile: (merges, days) => {
      const params = new SqlParams();
      const read = (only: readonly number[]): string => {
        const rows = funnelRows({ request, accountId, merges, params, only });
        const names = [...new Set(only.map((at) => steps[at]?.event ?? ''))];
        const where = [
          ...[...rows.where, ...sliceSql(days, params)],
          ...[`event IN ${params.bind('Array(String)', names)}`, 'mask != 0'],
        ];
        const events = `SELECT ${columnList(rows)} FROM ${rows.source} WHERE ${where.join(' AND ')}`;
        return `SELECT person, bitOr(bitShiftLeft(t, ${GAP_SHIFT}), mask) AS key FROM (${events})`;
      };
      const sql = readTogether(request, merges).map(read).join(' UNION ALL ');
      return { sql, params: params.values() };
    },
    counting: { kind: 'ordered', rules: { steps: steps.length, windowMs } },
    rankings: ({ counts }) =>
      depthsOf(counts).flatMap((people, at) =>
        at === 0 || people === 0 ? [] : [{ list: at - 1, ranks: ranksOf(people), max: windowMs }],
      ),
    rows: ({ counts }, values) => [rowOf(depthsOf(counts), values)],
  };
}

/**
 * Steps without filters are read apart from the others, whose properties are most of what is read;
 * not where each would join the aliases.
 */
function readTogether({ steps }: FunnelRequest, merges: Merges): number[][] {
  const all = [...steps.keys()];
  if (merges !== 'none') return [all];
  const isFiltered = (at: number): boolean => (steps[at]?.filters.length ?? 0) > 0;
  return [all.filter((at) => !isFiltered(at)), all.filter(isFiltered)].filter(
    (positions) => positions.length > 0,
  );
}

/** People who got as far as each step, from those of each depth. */
function depthsOf([byDepth = new Float64Array(0)]: readonly Float64Array[]): number[] {
  const reached: number[] = [];
  let sum = 0;
  for (let depth = byDepth.length - 1; depth > 0; depth--) {
    sum += byDepth[depth] ?? 0;
    reached.unshift(sum);
  }
  return reached;
}

/** The ranks between which each level lies (0-based). */
function ranksOf(values: number): number[] {
  return LEVELS.flatMap((level) => {
    const { below } = quantilePlace(level, values);
    return [below, Math.min(below + 1, values - 1)];
  });
}

/** As the statement answers it: nothing behind the last step that anybody reached. */
function rowOf(depths: readonly number[], ranked: readonly (readonly number[])[]): FunnelRow {
  const counts = depths.filter((people, at) => at === 0 || people > 0);
  const waits = ranked.map((found, at) =>
    LEVELS.map((level, index) => {
      const { part } = quantilePlace(level, counts[at + 1] ?? 0);
      const [low = 0, high = 0] = found.slice(2 * index);
      return low + part * (high - low);
    }),
  );
  return { kind: 'all', value: null, counts, waits };
}

import { isDeepStrictEqual } from 'node:util';
import { filtersSql } from '../../../../audiences/conditions/condition-sql.ts';
import type { Filter } from '../../../../audiences/conditions/condition.ts';
import type { Merges } from '../../../../audiences/people-sql.ts';
import { SqlParams, type CompiledQuery } from '../../../../platform/clickhouse/sql.ts';
import { daySlices, sliceSql, type DaySlice } from '../../many-events/day-slices.ts';
import type { ManyEvents } from '../../many-events/many-events.ts';
import { stepsOverlap } from '../../overlap.ts';
import type { FunnelRow } from '../answer.ts';
import {
  columnList,
  firstInstant,
  funnelRows,
  GAP_SHIFT,
  stepsOf,
  type StepAt,
} from '../event-arrays.ts';
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
  const times = { from: firstInstant(request), to: range.to + windowMs };
  const compile = (merges: Merges, days: DaySlice): CompiledQuery => {
    const params = new SqlParams();
    const read = ({ steps: selected, filters }: Reading): string => {
      const rows = funnelRows({ request, accountId, merges, params, steps: selected });
      const names = [...new Set(selected.map(({ event }) => event))];
      const where = [
        ...[...rows.where, ...sliceSql(days, params)],
        ...[`event IN ${params.bind('Array(String)', names)}`, 'mask != 0'],
      ];
      const first =
        filters.length === 0
          ? ''
          : ` PREWHERE ${filtersSql(filters, { params, accountId, person: rows.person })}`;
      const events = `SELECT ${columnList(rows)} FROM ${rows.source}${first} WHERE ${where.join(' AND ')}`;
      return `SELECT person, bitOr(bitShiftLeft(t, ${GAP_SHIFT}), mask) AS key FROM (${events})`;
    };
    const sql = readingsOf(request, merges).map(read).join(' UNION ALL ');
    return { sql, params: params.values() };
  };
  return {
    rangeMs: range.to - range.from,
    statements: (merges, threads) => daySlices(times, threads).map((days) => compile(merges, days)),
    counting: { kind: 'ordered', rules: { steps: steps.length, windowMs } },
    rankings: ({ counts }) =>
      depthsOf(counts).flatMap((people, at) =>
        at === 0 || people === 0 ? [] : [{ list: at - 1, ranks: ranksOf(people), max: windowMs }],
      ),
    rows: ({ counts }, values) => [rowOf(depthsOf(counts), values)],
  };
}

/** Steps that are read together, and filters that are tested before all else. */
interface Reading {
  steps: readonly StepAt[];
  filters: readonly Filter[];
}

/**
 * Steps without filters are read apart from the others, whose properties are most of what is read;
 * not where each would join the aliases. Filters that all of the others have are tested first, and
 * all else is computed of what they leave.
 */
function readingsOf(request: FunnelRequest, merges: Merges): Reading[] {
  const steps = stepsOf(request);
  if (merges !== 'none') return [{ steps, filters: [] }];
  const plain = steps.filter(({ filters }) => filters.length === 0);
  const filtered = steps.filter(({ filters }) => filters.length > 0);
  const { filters = [] } = filtered[0] ?? {};
  const isShared = filtered.every((step) => isDeepStrictEqual(step.filters, filters));
  return [
    { steps: plain, filters: [] },
    isShared
      ? { steps: filtered.map((step) => ({ ...step, filters: [] })), filters }
      : { steps: filtered, filters: [] },
  ].filter((reading) => reading.steps.length > 0);
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

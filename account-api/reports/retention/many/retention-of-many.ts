import type { Merges } from '../../../../audiences/people-sql.ts';
import { SqlParams, type CompiledQuery } from '../../../../platform/clickhouse/sql.ts';
import { daySlices, sliceSql, type DaySlice } from '../../many-events/day-slices.ts';
import { SLICES_PER_THREAD } from '../../many-events/memory-layout.ts';
import type { ManyEvents } from '../../many-events/many-events.ts';
import { isPlainFirstTime } from '../first-time-sql.ts';
import { eventRows, isSameEvent, type KeyParts } from '../members-sql.ts';
import type { RetentionRow } from '../answer.ts';
import { periodsOf } from '../periods.ts';
import type { RetentionRequest } from '../request.ts';

/** Bits of a key below the period and the time: many-events/wasm/first-time.as.ts describes it. */
export const KEY_PERIOD_SHIFT = 2;
export const KEY_TIME_SHIFT = 14;

/**
 * A first-time retention whose events can be grouped here, in place of the statement of
 * `compileRetention`: without a breakdown, and where ties do not matter.
 */
export function retentionOfMany(
  request: RetentionRequest,
  accountId: number,
): ManyEvents | undefined {
  if (!isPlainFirstTime(request) || request.breakdown !== undefined) return undefined;
  const periods = periodsOf(request);
  const cohorts = periods.labels.length;
  const begin = Math.max(0, periods.starts[0] ?? 0);
  const end = periods.starts.at(-1) ?? begin;
  const cohortsEnd = Math.max(0, periods.starts[cohorts] ?? end);
  const compile = (merges: Merges, { days, only }: Reading): CompiledQuery => {
    const params = new SqlParams();
    const context = { request, accountId, merges, params, periods };
    // an earlier start has the period 0, and its time does not matter
    const key = ({ time, period, flags }: KeyParts) =>
      `bitOr(bitOr(bitShiftLeft(toUInt64(greatest(${time} - ${params.whole(begin)} + 1, 0)), ${KEY_TIME_SHIFT}), bitShiftLeft(toUInt64(${period}), ${KEY_PERIOD_SHIFT})), ${flags})`;
    const rows = eventRows(context, { conditions: sliceSql(days, params), key, only });
    return { sql: `SELECT person, key FROM (${rows})`, params: params.values() };
  };
  /** Starts of all time are in the first slice. */
  const readings = (threads: number): Reading[] => {
    const slices = (only: Reading['only'], to: number, most: number): Reading[] =>
      daySlices({ from: begin, to }, most).map((days) => ({ days, only }));
    // what is both, or may be, is read at once: some days have more of it than others
    if (request.start.event === request.return.event)
      return slices(undefined, end, SLICES_PER_THREAD * threads);
    return [
      ...slices('starts', cohortsEnd, Math.ceil(threads / 2)),
      ...slices('returns', end, threads),
    ];
  };
  return {
    rangeMs: request.range.to - request.range.from,
    statements: (merges, threads) => readings(threads).map((reading) => compile(merges, reading)),
    counting: {
      kind: 'first-time',
      rules: { cohorts, periods: request.periods, isSameEvent: isSameEvent(request) },
    },
    rankings: () => [],
    rows: ({ counts }) => rowsOf(counts, { cohorts, periods: request.periods }),
  };
}

/**
 * Events that one statement reads. Starts are read apart from returns: none has to be tested for
 * being the other, and those after the last cohort, or before the first one, are not read.
 */
interface Reading {
  days: DaySlice;
  only: 'starts' | 'returns' | undefined;
}

/** Cohorts that have members, in order. */
function rowsOf(
  [members = new Float64Array(0), returned = new Float64Array(0)]: readonly Float64Array[],
  { cohorts, periods }: { cohorts: number; periods: number },
): RetentionRow[] {
  return Array.from({ length: cohorts }, (_, cohort): RetentionRow => {
    const own = returned.subarray(cohort * periods, (cohort + 1) * periods);
    return { kind: 'all', value: null, cohort, size: members[cohort] ?? 0, returned: [...own] };
  }).filter(({ size }) => size > 0);
}

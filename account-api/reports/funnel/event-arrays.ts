import { sinceSql, untilSql } from '../../../platform/clickhouse/event-time.ts';
import { KEPT_EVENTS } from '../../../platform/clickhouse/kept-events.ts';
import { filtersSql, type FilterSqlContext } from '../../../audiences/conditions/condition-sql.ts';
import type { EventSelector, Filter } from '../../../audiences/conditions/condition.ts';
import { peopleSql, type Merges } from '../../../audiences/people-sql.ts';
import { TIE_BREAKERS, type SqlParams } from '../../../platform/clickhouse/sql.ts';
import { eventValueSql, hasEventValue } from '../breakdown-sql.ts';
import { stepsOverlap } from '../overlap.ts';
import type { FunnelRequest } from './request.ts';

/**
 * A person's events are elements of an array in ClickHouse. The key of an element is one UInt64, so
 * that sorting by time is cheap:
 *
 * time since the range's start + 1 ms (40 bits) | exclusion (1) | gaps that it breaks (11) | steps
 * that it matches (12)
 *
 * At one timestamp steps come before exclusions, and a lower step before a higher one. An event
 * that is both gives two elements.
 */
export const TIME_SHIFT = 24;
export const GAP_SHIFT = 12;
/** The bits of a key that say which steps an element matches. */
export const STEP_BITS = 2 ** GAP_SHIFT - 1;
/** The bits of a key below its time. */
export const TIME_BITS_BELOW = 2 ** TIME_SHIFT - 1;
const EXCLUSION_FLAG = 1 << 23;

/** Bit of step `at` (0-based) in a key. */
export function stepBit(at: number): number {
  return at;
}

/** Bit of the gap between the steps `at` and `at + 1` (0-based) in a key. */
export function gapBit(at: number): number {
  return GAP_SHIFT + at;
}

export interface FunnelSqlContext {
  request: FunnelRequest;
  accountId: number;
  merges: Merges;
  params: SqlParams;
  /** The steps to be read; all of the request without it. */
  steps?: readonly StepAt[];
}

/** A step and its position (0-based). */
export type StepAt = EventSelector & { at: number };

export function stepsOf({ steps }: FunnelRequest): StepAt[] {
  return steps.map((step, at) => ({ ...step, at }));
}

/**
 * DateTime64 and the unsigned keys cannot represent earlier times.
 */
const EPOCH = 0;

/** First instant whose events matter, epoch milliseconds. */
export function firstInstant({ range }: FunnelRequest): number {
  return Math.max(EPOCH, range.from);
}

export interface RowSql {
  /** SELECT list and FROM … WHERE of the events, before they are grouped by person. */
  columns: Record<string, string>;
  source: string;
  where: string[];
  person: string;
}

/**
 * The rows that a funnel reads, with the columns `mask` (steps matched), `gaps` (gaps broken) and
 * `t` (time as in the key).
 */
export function funnelRows(context: FunnelSqlContext): RowSql {
  const { request, params, accountId, merges } = context;
  const { source, person } = peopleSql({ merges, accountId, params });
  const filterContext: FilterSqlContext = { params, accountId, person };
  const from = firstInstant(request);
  const where = [
    `account_id = ${params.whole(accountId)}`,
    KEPT_EVENTS,
    sinceSql(from, params),
    untilSql(request.range.to + request.windowMs, params),
    ...(request.includeBots ? [] : ['NOT is_bot']),
    ...(request.filters.length > 0 ? [filtersSql(request.filters, filterContext)] : []),
  ];
  const gaps = request.exclude.map((exclusion) => {
    const bits = Array.from(
      { length: exclusion.toStep - exclusion.fromStep },
      (_, gap) => 1 << (exclusion.fromStep - 1 + gap),
    );
    return `if(${selectorSql(exclusion, filterContext)}, ${bits.reduce((sum, bit) => sum | bit, 0)}, 0)`;
  });
  return {
    columns: {
      person,
      t: `toUInt64(toUnixTimestamp64Milli(timestamp) - ${params.whole(from)} + 1)`,
      mask: `toUInt64(${maskSql(context, filterContext)})`,
      ...(gaps.length > 0 ? { gaps: `toUInt64(${bitUnion(gaps)})` } : {}),
      ...(hasEventValue(request) ? { value: eventValueSql(request, params) } : {}),
    },
    source,
    where,
    person,
  };
}

/**
 * The steps that an event matches, as bits: those with the same filters are one lookup of the name,
 * however many they are, behind one test of the filters.
 */
function maskSql(
  { request, steps = stepsOf(request) }: FunnelSqlContext,
  context: FilterSqlContext,
): string {
  const { params } = context;
  const groups = new Map<string, { filters: readonly Filter[]; bits: Map<string, number> }>();
  for (const { at, event, filters } of steps) {
    const key = JSON.stringify(filters);
    const group = groups.get(key) ?? { filters, bits: new Map<string, number>() };
    groups.set(key, group);
    group.bits.set(event, (group.bits.get(event) ?? 0) | (1 << stepBit(at)));
  }
  const mask = bitUnion(
    [...groups.values()].map(({ filters, bits }) => {
      const named = `transform(event, ${params.bind('Array(String)', [...bits.keys()])}, ${params.bind('Array(UInt64)', [...bits.values()])}, 0)`;
      return filters.length === 0 ? named : `if(${filtersSql(filters, context)}, ${named}, 0)`;
    }),
  );
  // the first step must be inside the range; with order 'any' every step can be the first
  if (request.order === 'any') return mask;
  const isAfter = `timestamp >= ${params.instant(request.range.to)}`;
  return `bitAnd(${mask}, if(${isAfter}, ${STEP_BITS - (1 << stepBit(0))}, ${STEP_BITS}))`;
}

function selectorSql(selector: EventSelector, context: FilterSqlContext): string {
  const conditions = [`event = ${context.params.text(selector.event)}`];
  if (selector.filters.length > 0) conditions.push(filtersSql(selector.filters, context));
  return conditions.join(' AND ');
}

function bitUnion(parts: readonly string[]): string {
  return parts.reduce((left, right) => `bitOr(${left}, ${right})`);
}

export function columnList({ columns }: RowSql): string {
  return Object.entries(columns)
    .map(([name, sql]) => `${sql} AS ${name}`)
    .join(', ');
}

/**
 * SELECT of one row per person with its elements: `es`, sorted; tuples (key, tie breakers…, value?)
 * when
 * `hasTieBreakers`, plain keys otherwise.
 */
export function eventArraysByPerson(
  context: FunnelSqlContext,
  { hasTieBreakers }: { hasTieBreakers: boolean },
): string {
  const { request, params } = context;
  const rows = funnelRows(context);
  const names = [...request.steps, ...request.exclude].map(({ event }) => event);
  const hasGaps = request.exclude.length > 0;
  const needsCheck = [...request.steps, ...request.exclude].some(
    ({ filters }) => filters.length > 0,
  );
  const where = [...rows.where, `event IN ${params.bind('Array(String)', [...new Set(names)])}`];
  if (needsCheck) where.push(hasGaps ? '(mask != 0 OR gaps != 0)' : 'mask != 0');
  const element = (key: string): string =>
    hasTieBreakers
      ? `(${[key, TIE_BREAKERS, ...(hasEventValue(request) ? ['value'] : [])].join(', ')})`
      : key;
  const stepKey = `bitOr(bitShiftLeft(t, ${TIME_SHIFT}), mask)`;
  const gapKey = `bitOr(bitShiftLeft(t, ${TIME_SHIFT}), bitShiftLeft(gaps, ${GAP_SHIFT}) + ${EXCLUSION_FLAG})`;
  const both = request.exclude.some(({ event }) =>
    request.steps.some((step) => step.event === event),
  );
  const collected = !hasGaps
    ? `groupArray(${element(stepKey)})`
    : both
      ? `groupArrayArray(multiIf(gaps = 0, [${element(stepKey)}], mask = 0, [${element(gapKey)}], [${element(stepKey)}, ${element(gapKey)}]))`
      : `groupArray(${element(`if(mask != 0, ${stepKey}, ${gapKey})`)})`;
  const inner = `SELECT ${columnList(rows)}${hasTieBreakers ? `, ${TIE_BREAKERS}` : ''} FROM ${rows.source} WHERE ${where.join(' AND ')}`;
  return `SELECT person, arraySort(${collected}) AS es FROM (${inner}) GROUP BY person`;
}

/**
 * Whether step `at + 1` (0-based) can match an event that also matches step `at`: then only
 * what lies before that event counts.
 */
export function isShared({ request }: FunnelSqlContext, at: number): boolean {
  return stepsOverlap(request.steps.slice(at, at + 2));
}

/** Whether an exclusion breaks the gap between the steps `at` and `at + 1` (0-based). */
export function hasGap({ request }: FunnelSqlContext, at: number): boolean {
  return request.exclude.some(({ fromStep, toStep }) => fromStep <= at + 1 && at + 1 < toStep);
}

/**
 * The column with the times that break the gap `at` (0-based): gaps with the same exclusions share
 * one. Undefined: nothing breaks it.
 */
export function gapColumn({ request }: FunnelSqlContext, at: number): string | undefined {
  const exclusionsOf = (gap: number): string =>
    request.exclude
      .flatMap(({ fromStep, toStep }, one) =>
        fromStep <= gap + 1 && gap + 1 < toStep ? [one] : [],
      )
      .join();
  const exclusions = exclusionsOf(at);
  if (exclusions === '') return undefined;
  const first = request.steps.findIndex((_, gap) => exclusionsOf(gap) === exclusions);
  return `x${first + 1}`;
}

/** A key's time as a key, with zeros in the bits below. */
export const startOfTime = (key: string): string =>
  `bitAnd(${key}, ${2n ** 64n - 1n - BigInt(TIME_BITS_BELOW)})`;

/** An array shifted by one: each element holds the value of the one before. */
export const before = (array: string): string => `arrayShiftRight(${array}, 1)`;
export const after = (array: string): string => `arrayShiftLeft(${array}, 1)`;
/** An array whose zeros are replaced by the last value before them. */
export const carried = (array: string): string => `arrayFill(x -> x > 0, ${array})`;

/** The times of the events at these positions. */
export const timesAt = (times: string, positions: string): string =>
  `arrayMap(q -> ${times}[q], ${positions})`;
/** What lies between each two of these times. */
export const gapsOf = (times: string): string => `arrayPopFront(arrayDifference(${times}))`;

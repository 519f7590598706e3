import { eventTargetSql, traitTargetSql } from '../../audiences/conditions/condition-sql.ts';
import type { SqlParams } from '../../platform/clickhouse/sql.ts';
import type { Breakdown } from './selectors.ts';

interface BreakdownContext {
  request: { breakdown: Breakdown | undefined };
  accountId: number;
  params: SqlParams;
}

/** True when the events of a person contain the breakdown's value; a trait is joined afterwards. */
export function hasEventValue({ breakdown }: BreakdownContext['request']): boolean {
  return breakdown !== undefined && breakdown.target.kind !== 'trait';
}

/** The breakdown's value of an event row; NULL where it has no text. */
export function eventValueSql({ breakdown }: BreakdownContext['request'], params: SqlParams) {
  const target = breakdown?.target;
  const text = target && target.kind !== 'trait' ? eventTargetSql(target, params).text : undefined;
  return text
    ? `if(${text.has}, CAST(${text.value} AS Nullable(String)), NULL)`
    : 'CAST(NULL AS Nullable(String))';
}

/**
 * Joins the person's current trait to `rows`, a SELECT with the column `person`: `columns` is the
 * new SELECT list, in which the trait is `trait`. Without a breakdown by a trait: `rows` unchanged.
 */
export function joinTrait(
  { request, params, accountId }: BreakdownContext,
  { rows, columns }: { rows: string; columns: string },
): string {
  const target = request.breakdown?.target;
  if (target?.kind !== 'trait') return rows;
  const { text } = traitTargetSql(target.name, params);
  const traits = `SELECT sipHash64(person) AS person, CAST(${text?.value ?? "''"} AS Nullable(String)) AS trait FROM people WHERE account_id = ${params.whole(accountId)} AND ${text?.has ?? 'false'}`;
  return `SELECT ${columns} FROM (${rows}) AS reached LEFT ANY JOIN (${traits}) AS traits USING (person)`;
}

/**
 * `bucket`, the (kind, value) under which a row of a value counts: all, and the value itself, the
 * values past the limit, or those without a value. Needs `value_rank`.
 */
export function bucketSql(limit: number): string {
  const own = `multiIf(value IS NULL, ('none', NULL), value_rank <= ${limit}, ('value', value), ('other', NULL))`;
  return `arrayJoin([('all', NULL), ${own}]) AS bucket`;
}

/** Order of the answer, for a statement grouped by bucket. */
export const BUCKET_ORDER = "indexOf(['all', 'value', 'other', 'none'], kind), min(value_rank)";

/** A row of a report's statement: of all people or of one bucket. */
export interface BucketRow {
  kind: 'all' | 'value' | 'other' | 'none';
  value: string | null;
}

/** What an answer says about the value of a bucket. */
export interface ListedValue {
  value: string | null;
  other?: true;
}

export function listedValue({ kind, value }: BucketRow): ListedValue {
  return kind === 'other' ? { value: null, other: true } : { value };
}

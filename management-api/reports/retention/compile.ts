import { traitTargetSql } from '../../conditions/condition-sql.ts';
import { nestedSelects } from '../../warehouse/sql.ts';
import type { Merges } from '../../warehouse/people-sql.ts';
import { SqlParams, type CompiledQuery } from '../../warehouse/sql.ts';
import type { RetentionSqlContext } from './members-sql.ts';
import { membersOf } from './members-sql.ts';
import { periodsOf } from './periods.ts';
import type { RetentionRequest } from './request.ts';

/** POST /v1/reports/retention as SQL (reports: Retention); its rows are RetentionRow. */
export function compileRetention(options: {
  request: RetentionRequest;
  accountId: number;
  merges: Merges;
}): CompiledQuery {
  const { request } = options;
  const params = new SqlParams();
  const context: RetentionSqlContext = { ...options, params, periods: periodsOf(request) };
  const members = withTrait(context, membersOf(context));
  // members with the same cohort and the same pattern of returns are counted together before the
  // patterns are split
  const patterns = `SELECT value, cohort, pattern, count() AS members FROM (${members}) GROUP BY value, cohort, pattern`;
  const bits = `arrayMap(n -> if(bitTest(pattern, n), members, 0), range(toUInt8(${request.periods})))`;
  const counts = `sum(members) AS size, sumForEach(${bits}) AS returned`;
  const sql = request.breakdown
    ? brokenDown(patterns, { counts, limit: request.breakdown.limit })
    : `SELECT 'all' AS kind, NULL AS value, cohort, ${counts} FROM (${patterns}) GROUP BY cohort ORDER BY cohort`;
  return { sql, params: params.values() };
}

/**
 * Each value by itself, then those past the limit together, those without one together, and all.
 */
function brokenDown(
  patterns: string,
  { counts, limit }: { counts: string; limit: number },
): string {
  const bucket = `multiIf(value IS NULL, ('none', NULL), value_rank <= ${limit}, ('value', value), ('other', NULL))`;
  const ranked = nestedSelects(patterns, [
    ['sum(members) OVER (PARTITION BY value) AS total'],
    ['dense_rank() OVER (PARTITION BY value IS NULL ORDER BY total DESC, value) AS value_rank'],
    [`arrayJoin([('all', NULL), ${bucket}]) AS bucket`],
  ]);
  return [
    `SELECT bucket.1 AS kind, bucket.2 AS value, cohort, ${counts} FROM (${ranked}) GROUP BY bucket, cohort`,
    `ORDER BY indexOf(['all', 'value', 'other', 'none'], kind), min(value_rank), cohort`,
  ].join(' ');
}

/** Adds the person's current trait as the value. */
function withTrait({ request, params, accountId }: RetentionSqlContext, members: string): string {
  const target = request.breakdown?.target;
  if (target?.kind !== 'trait') return members;
  const { text } = traitTargetSql(target.name, params);
  const traits = `SELECT sipHash64(person) AS person, CAST(${text?.value ?? "''"} AS Nullable(String)) AS trait FROM people WHERE account_id = ${params.whole(accountId)} AND ${text?.has ?? 'false'}`;
  return `SELECT cohort, pattern, trait AS value FROM (SELECT person, cohort, pattern FROM (${members})) AS members LEFT ANY JOIN (${traits}) AS traits USING (person)`;
}

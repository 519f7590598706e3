import type { Merges } from '../../../audiences/people-sql.ts';
import { nestedSelects, SqlParams, type CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import { BUCKET_ORDER, bucketSql, joinTrait } from '../breakdown-sql.ts';
import { retentionMembers } from './first-time-sql.ts';
import type { RetentionSqlContext } from './members-sql.ts';
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
  const members = joinTrait(context, {
    rows: retentionMembers(context),
    columns: 'cohort, pattern, trait AS value',
  });
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

function brokenDown(
  patterns: string,
  { counts, limit }: { counts: string; limit: number },
): string {
  const ranked = nestedSelects(patterns, [
    ['sum(members) OVER (PARTITION BY value) AS total'],
    ['dense_rank() OVER (PARTITION BY value IS NULL ORDER BY total DESC, value) AS value_rank'],
    [bucketSql(limit)],
  ]);
  return [
    `SELECT bucket.1 AS kind, bucket.2 AS value, cohort, ${counts} FROM (${ranked}) GROUP BY bucket, cohort`,
    `ORDER BY ${BUCKET_ORDER}, cohort`,
  ].join(' ');
}

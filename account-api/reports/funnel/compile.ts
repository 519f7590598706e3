import type { Merges } from '../../../audiences/people-sql.ts';
import { SqlParams, type CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import { BUCKET_ORDER, bucketSql, joinTrait } from '../breakdown-sql.ts';
import type { FunnelSqlContext } from './event-arrays.ts';
import { anyPeople } from './any-sql.ts';
import { orderedPeople } from './ordered-sql.ts';
import { strictPeople } from './strict-sql.ts';
import type { FunnelRequest } from './request.ts';

/** POST /v1/reports/funnel as SQL (reports: Funnel). */
export function compileFunnel(options: {
  request: FunnelRequest;
  accountId: number;
  merges: Merges;
}): CompiledQuery {
  const params = new SqlParams();
  const context: FunnelSqlContext = { ...options, params };
  const people = funnelPeople(context);
  const sql = options.request.breakdown ? brokenDown(context, people) : whole(people);
  return { sql, params: params.values() };
}

/**
 * SELECT of one row per person: depth, `gaps`, the milliseconds between each two steps of the path,
 * and the breakdown's value where an event carries it.
 */
export function funnelPeople(context: FunnelSqlContext): string {
  switch (context.request.order) {
    case 'ordered':
      return orderedPeople(context);
    case 'strict':
      return strictPeople(context);
    case 'any':
      return anyPeople(context);
  }
}

const WAITS = 'quantilesExactInclusiveForEach';

function whole(people: string): string {
  return `SELECT 'all' AS kind, NULL AS value, arrayPushFront(countForEach(gaps), countIf(depth > 0)) AS counts, ${WAITS}(0.5, 0.9)(gaps) AS waits FROM (${people})`;
}

/** Computes people once: the states of the values are merged into those of the buckets. */
function brokenDown(context: FunnelSqlContext, people: string): string {
  const { breakdown } = context.request;
  const step = breakdown?.step ?? 1;
  const paths = joinTrait(context, {
    rows: people,
    columns: `depth, gaps, if(depth < ${step}, NULL, trait) AS value`,
  });
  const values = `SELECT value, count() AS first, countForEach(gaps) AS later, ${WAITS}State(0.5, 0.9)(gaps) AS times FROM (${paths}) WHERE depth > 0 GROUP BY value`;
  const ranked = `SELECT *, row_number() OVER (PARTITION BY value IS NULL ORDER BY first DESC, value) AS value_rank FROM (${values})`;
  return [
    'SELECT bucket.1 AS kind, bucket.2 AS value, arrayPushFront(sumForEach(later), sum(first)) AS counts,',
    `${WAITS}Merge(0.5, 0.9)(times) AS waits`,
    `FROM (SELECT *, ${bucketSql(breakdown?.limit ?? 0)} FROM (${ranked})) GROUP BY bucket`,
    `ORDER BY ${BUCKET_ORDER}`,
  ].join(' ');
}

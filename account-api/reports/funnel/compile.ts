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
  const sql = options.request.breakdown
    ? brokenDown(context, people)
    : whole(options.request, people);
  return { sql, params: params.values() };
}

/**
 * SELECT of one row per person: depth, gap1… in milliseconds, and the breakdown's value where an
 * event carries it.
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

const QUANTILES = 'quantilesExactInclusiveIf';

function whole({ steps }: FunnelRequest, people: string): string {
  const counts = steps.map((_, at) => `countIf(depth > ${at})`);
  const waits = steps
    .slice(1)
    .map((_, at) => `${QUANTILES}(0.5, 0.9)(gap${at + 1}, depth > ${at + 1})`);
  return `SELECT 'all' AS kind, NULL AS value, [${counts.join(', ')}] AS counts, [${waits.join(', ')}] AS waits FROM (${people})`;
}

/** Computes people once: the states of the values are merged into those of the buckets. */
function brokenDown(context: FunnelSqlContext, people: string): string {
  const { steps, breakdown } = context.request;
  const counts = steps.map((_, at) => `count${at}`);
  const waits = steps.slice(1).map((_, at) => `wait${at}`);
  const perValue = [
    'value',
    ...counts.map((name, at) => `countIf(depth > ${at}) AS ${name}`),
    ...waits.map(
      (name, at) => `${QUANTILES}State(0.5, 0.9)(gap${at + 1}, depth > ${at + 1}) AS ${name}`,
    ),
  ];
  const step = breakdown?.step ?? 1;
  const paths = joinTrait(context, {
    rows: people,
    columns: `*, if(depth < ${step}, NULL, trait) AS value`,
  });
  const values = `SELECT ${perValue.join(', ')} FROM (${paths}) WHERE depth > 0 GROUP BY value`;
  const ranked = `SELECT *, row_number() OVER (PARTITION BY value IS NULL ORDER BY count0 DESC, value) AS value_rank FROM (${values})`;
  return [
    `SELECT bucket.1 AS kind, bucket.2 AS value, [${counts.map((name) => `sum(${name})`).join(', ')}] AS counts,`,
    `[${waits.map((name) => `${QUANTILES}Merge(0.5, 0.9)(${name})`).join(', ')}] AS waits`,
    `FROM (SELECT *, ${bucketSql(breakdown?.limit ?? 0)} FROM (${ranked})) GROUP BY bucket`,
    `ORDER BY ${BUCKET_ORDER}`,
  ].join(' ');
}

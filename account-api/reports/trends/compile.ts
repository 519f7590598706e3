import { filtersSql, type FilterSqlContext } from '../../../audiences/conditions/condition-sql.ts';
import { peopleSql, type Merges } from '../../../audiences/people-sql.ts';
import { beforeSql, sinceSql } from '../../../platform/clickhouse/event-time.ts';
import { KEPT_EVENTS } from '../../../platform/clickhouse/kept-events.ts';
import { nestedSelects, SqlParams, type CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import { BUCKET_ORDER, bucketSql, eventValueSql, joinTrait } from '../breakdown-sql.ts';
import { EVENT_TIME, periodPositionSql } from '../period-position.ts';
import { periodStartsOf } from './periods.ts';
import type { TrendsRequest, TrendsSeries } from './request.ts';

export interface TrendsContext {
  request: TrendsRequest;
  accountId: number;
  merges: Merges;
  params: SqlParams;
}

/** What a row of the statement holds of its events, as states that are merged afterwards. */
const STATES = [
  'count() AS events',
  'uniqExactState(person) AS people',
  'sumKahanState(number) AS total',
  'count(number) AS numbers',
];
const MERGED = [
  'sum(events) AS events',
  'uniqExactMerge(people) AS people',
  'sumKahanMerge(total) AS total',
  'sum(numbers) AS numbers',
];

/**
 * POST /v1/reports/trends as SQL (docs/reports.md, Trends); its rows are TrendsRow. Series and
 * periods are positions; period -1 is the whole range.
 */
export function compileTrends(options: Omit<TrendsContext, 'params'>): CompiledQuery {
  const { request } = options;
  const params = new SqlParams();
  const context = { ...options, params };
  const rows = joinTrait(context, {
    rows: matchedEvents(context),
    columns: 'person, series, period, number, trait AS value',
  });
  const grouped = `SELECT series, value, period, ${STATES.join(', ')} FROM (${rows}) GROUP BY series, value, period`;
  const split = request.breakdown
    ? nestedSelects(grouped, [
        ['sum(events) OVER (PARTITION BY value) AS value_events'],
        [
          'dense_rank() OVER (PARTITION BY value IS NULL ORDER BY value_events DESC, value) AS value_rank',
        ],
        [bucketSql(request.breakdown.limit)],
      ])
    : `SELECT *, ('all', NULL) AS bucket, 1 AS value_rank FROM (${grouped})`;
  const sql = [
    `SELECT bucket.1 AS kind, bucket.2 AS value, series, at AS period, ${MERGED.join(', ')}`,
    `FROM (SELECT *, arrayJoin([period, -1]) AS at FROM (${split})) GROUP BY bucket, series, at`,
    `ORDER BY ${BUCKET_ORDER}, series, period`,
  ].join(' ');
  return { sql, params: params.values() };
}

/** SELECT of one row for each event and series that it belongs to. */
export function matchedEvents(context: TrendsContext): string {
  const { request, accountId, merges, params } = context;
  const { source, person } = peopleSql({ merges, accountId, params });
  const filterContext: FilterSqlContext = { params, accountId, person };
  const starts = periodStartsOf(request);
  const matching = request.series.map(
    (one, at) => `if(${selectorSql(one, filterContext)}, ${at}, -1)`,
  );
  const where = [
    ...eventsWhere(context, { filterContext, starts }),
    `event IN ${params.bind('Array(String)', [...new Set(request.series.map(({ event }) => event))])}`,
  ];
  const columns = [
    `${person} AS person`,
    `arrayJoin(arrayFilter(s -> s >= 0, [${matching.join(', ')}])) AS series`,
    `${periodPositionSql(EVENT_TIME, starts.slice(0, -1), params)} - 1 AS period`,
    `${numberSql(request.series, params)} AS number`,
    `${eventValueSql(request, params)} AS value`,
  ];
  return `SELECT ${columns.join(', ')} FROM ${source} WHERE ${where.join(' AND ')}`;
}

/** The events of the account in the periods that the report's filters and the bot rule leave. */
function eventsWhere(
  { request, accountId, params }: TrendsContext,
  { filterContext, starts }: { filterContext: FilterSqlContext; starts: readonly number[] },
): string[] {
  return [
    `account_id = ${params.whole(accountId)}`,
    KEPT_EVENTS,
    sinceSql(starts[0] ?? 0, params),
    beforeSql(starts.at(-1) ?? 0, params),
    ...(request.includeBots ? [] : ['NOT is_bot']),
    ...(request.filters.length > 0 ? [filtersSql(request.filters, filterContext)] : []),
  ];
}

function selectorSql({ event, filters }: TrendsSeries, context: FilterSqlContext): string {
  return `(event = ${context.params.text(event)} AND ${filtersSql(filters, context)})`;
}

/** The number that an event adds to its series; NULL where it has none. */
function numberSql(series: readonly TrendsSeries[], params: SqlParams): string {
  const sides = series.flatMap(({ property }, at) => {
    if (property === undefined) return [];
    const key = params.text(property);
    return [
      `series = ${at}`,
      `if(mapContains(property_numbers, ${key}), CAST(property_numbers[${key}] AS Nullable(Float64)), NULL)`,
    ];
  });
  const none = 'CAST(NULL AS Nullable(Float64))';
  return sides.length === 0 ? none : `multiIf(${sides.join(', ')}, ${none})`;
}

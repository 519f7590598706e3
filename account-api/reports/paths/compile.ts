import { filtersSql, type FilterSqlContext } from '../../../audiences/conditions/condition-sql.ts';
import { peopleSql, type Merges } from '../../../audiences/people-sql.ts';
import { sinceSql, untilSql } from '../../../platform/clickhouse/event-time.ts';
import { KEPT_EVENTS } from '../../../platform/clickhouse/kept-events.ts';
import {
  nestedSelects,
  SqlParams,
  TIE_BREAKERS,
  type CompiledQuery,
} from '../../../platform/clickhouse/sql.ts';
import type { PathsRequest } from './request.ts';

/** Stands for the events past the limit: no event has this name, which is not normalised. */
export const OTHER = '\u0001';

interface PathsOptions {
  request: PathsRequest;
  accountId: number;
  merges: Merges;
}

/**
 * POST /v1/reports/paths as SQL (docs/reports.md, Paths); its rows are PathsRow. The events of a
 * person are an array in their order; the path is the run after the first start, or before it,
 * without repetitions. Events past the limit of a place become OTHER, and the path ends there.
 */
export function compilePaths({ request, accountId, merges }: PathsOptions): CompiledQuery {
  const params = new SqlParams();
  const counted = `SELECT path, count() AS people FROM (${pathsByPerson({ request, accountId, merges, params })}) GROUP BY path`;
  const cut = Array.from({ length: request.depth }, (_, at) => rankAt(at + 1, request.limit));
  const last = `p${request.depth}`;
  const sql = `SELECT ${last} AS path, sum(people) AS people FROM (${nestedSelects(counted, cut.flat())}) GROUP BY ${last} ORDER BY people DESC, path`;
  return { sql, params: params.values() };
}

/**
 * `p<place>`: the path whose first `place` events are listed ones. People with fewer events rank
 * nowhere.
 */
function rankAt(place: number, limit: number): string[][] {
  const path = place === 1 ? 'path' : `p${place - 1}`;
  const before = `arraySlice(${path}, 1, ${place - 1})`;
  const name = `${path}[${place}]`;
  const isOpen = `length(${path}) >= ${place} AND ${name} != '${OTHER}'`;
  return [
    [`sum(people) OVER (PARTITION BY ${isOpen}, arraySlice(${path}, 1, ${place})) AS t${place}`],
    [
      `dense_rank() OVER (PARTITION BY ${isOpen}, ${before} ORDER BY t${place} DESC, ${name}) AS r${place}`,
    ],
    [
      `if(${isOpen} AND r${place} > ${limit}, arrayPushBack(${before}, '${OTHER}'), ${path}) AS p${place}`,
    ],
  ];
}

/**
 * SELECT of one row per person who has a start in the range: `person`, and `path`, the names of its
 * events.
 */
export function pathsByPerson({
  request,
  accountId,
  merges,
  params,
}: PathsOptions & { params: SqlParams }): string {
  const { source, person } = peopleSql({ merges, accountId, params });
  const context: FilterSqlContext = { params, accountId, person };
  const { range, start, windowMs, direction, depth } = request;
  const isAfter = direction === 'after';
  const from = isAfter ? range.from : range.from - windowMs;
  const to = isAfter ? range.to + windowMs : range.to;
  const inRange = `timestamp >= ${params.instant(Math.max(0, range.from))} AND timestamp < ${params.instant(Math.max(0, range.to))}`;
  const isStart = `event = ${params.text(start.event)} AND ${filtersSql(start.filters, context)} AND ${inRange}`;
  const where = [
    `account_id = ${params.whole(accountId)}`,
    KEPT_EVENTS,
    "type IN ('track', 'page', 'screen')",
    "source != 'platform'",
    sinceSql(from, params),
    untilSql(to, params),
    ...(request.includeBots ? [] : ['NOT is_bot']),
    ...(request.filters.length > 0 ? [filtersSql(request.filters, context)] : []),
  ];
  const rows = `SELECT ${person} AS person, toUnixTimestamp64Milli(timestamp) AS t, ${TIE_BREAKERS}, toString(event) AS name, ${isStart} AS is_start FROM ${source} WHERE ${where.join(' AND ')}`;
  const people = `SELECT person, arraySort(groupArray((t, ${TIE_BREAKERS}, name, is_start))) AS es FROM (${rows}) GROUP BY person HAVING max(is_start)`;
  const window = params.whole(windowMs);
  const near = isAfter
    ? `arrayFilter(e -> e.1 <= es[at].1 + ${window}, arraySlice(es, at + 1))`
    : `arrayReverse(arrayFilter(e -> e.1 >= es[at].1 - ${window}, arraySlice(es, 1, at - 1)))`;
  const levels = nestedSelects(people, [
    ['arrayFirstIndex(e -> e.7, es) AS at'],
    [`arrayMap(e -> e.6, ${near}) AS names`],
    // the start itself begins the run: a repetition of it is none
    ['arrayPopFront(arrayCompact(arrayPushFront(names, es[at].6))) AS run'],
    [`arraySlice(run, 1, ${depth}) AS path`],
  ]);
  return `SELECT person, path FROM (${levels})`;
}

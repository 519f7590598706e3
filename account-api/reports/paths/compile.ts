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
 *
 * The people and the rank of an event at a place are those among the paths with the same events
 * before it. Cutting such paths at an earlier place cuts all of them alike: so the places are
 * ranked side by side, on whole paths, and not one on top of the other.
 */
export function compilePaths({ request, accountId, merges }: PathsOptions): CompiledQuery {
  const params = new SqlParams();
  const places = Array.from({ length: request.depth }, (_, at) => at + 1);
  // `names`: the path with OTHER at the places behind its end
  const counted = `SELECT path AS whole, arrayResize(path, ${request.depth}, '${OTHER}') AS names, count() AS people FROM (${pathsByPerson({ request, accountId, merges, params })}) GROUP BY path`;
  const ranks = places.map((place) => `rank${place}`).join(', ');
  const by = `SELECT if(at = 0, whole, arrayPushBack(arraySlice(whole, 1, at - 1), '${OTHER}')) AS path, sum(people) AS people`;
  const levels = nestedSelects(
    counted,
    [
      places.map(totalAt),
      places.map(rankAt),
      [`arrayFirstIndex(r -> r > ${request.limit}, arrayResize([${ranks}], length(whole))) AS at`],
    ],
    { columns: ['whole', 'names', 'people'], by },
  );
  const sql = `${by} FROM (${levels}) GROUP BY path ORDER BY people DESC, path`;
  return { sql, params: params.values() };
}

/** People with the same path up to this place (1-based). */
function totalAt(place: number): string {
  return `sum(people) OVER (PARTITION BY ${namesUntil(place)}) AS total${place}`;
}

/** The rank of the event at this place behind those before it; paths that end before are last. */
function rankAt(place: number): string {
  const partition = place === 1 ? '' : `PARTITION BY ${namesUntil(place - 1)} `;
  return `dense_rank() OVER (${partition}ORDER BY length(whole) < ${place}, total${place} DESC, names[${place}]) AS rank${place}`;
}

/** The events up to a place; ClickHouse sorts by texts for less than by slices of an array. */
function namesUntil(place: number): string {
  return Array.from({ length: place }, (_, at) => `names[${at + 1}]`).join(', ');
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

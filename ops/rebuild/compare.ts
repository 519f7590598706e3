import { syncReplicas } from '../../platform/clickhouse/replicas.ts';
import type { ClickHouseClient } from '@clickhouse/client';
import { MAX_RETENTION_DAYS, type Retentions } from '../../events/retention.ts';
import { COMPARED_COLUMNS as EVENT_COLUMNS } from '../../projections/events/insert-batch.ts';
import { MESSAGE_COLUMNS } from '../../projections/messages/rows.ts';
import { VERSION_OFFSET, VERSION_PARTITION } from '../../projections/messages/version.ts';
import { COLUMNS as PROFILE_COLUMNS } from '../../projections/profiles/profile-row.ts';
import type { RebuildProgress } from '../../projections/rebuild-target.ts';
import type { ProjectionName } from '../../schemas/topology.ts';

/** Result of a comparison. `moved_on`: the live table has processed more events since. */
export interface TableComparison {
  /** Rows of the two tables that were compared. */
  live: number;
  rebuilt: number;
  /**
   * Units compared by count and checksum: offset ranges of events, distinct ids, account-days, runs
   * of campaigns.
   */
  compared: number;
  equal: number;
  moved_on: number;
  differing: number;
  /** Some that differ; of events, single positions. */
  examples: { what: string; state: 'only live' | 'only rebuilt' | 'differs' }[];
}

export interface CompareOptions {
  client: ClickHouseClient;
  cluster: string;
  projection: ProjectionName;
  live: string;
  rebuilt: string;
  /** By partition: up to where the rebuilt table is filled. */
  positions: Readonly<Record<string, RebuildProgress>>;
  retentions: Retentions;
  /** ms since the epoch */
  now: number;
  /** Called after each query. */
  onProgress: () => void;
}

const DAY = 86_400_000;
const MAX_EXAMPLES = 10;
/** The key space is compared in this many passes, to bound memory. */
const PASSES = 16;
/** Offsets of the raw log that share one checksum. */
const RANGE = 10_000;

/** Compares the positions that the rebuilt table covers, within the retention. */
export async function compareTables(options: CompareOptions): Promise<TableComparison> {
  const side = SIDES[options.projection];
  const total = await compareBy(options, (table) => side(options, table));
  if (options.projection !== 'events' || total.differing === 0) return total;
  const ranges = total.examples
    .map(({ what }) => what.split(':'))
    .map(([partition = '0', range = '0']) => `(${Number(partition)}, ${Number(range)})`);
  const inside = `(_partition, intDiv(_offset, ${RANGE})) IN (${ranges.join(', ')})`;
  const positions = await compareBy(options, (table) => eventPositions(options, table, inside));
  return { ...total, examples: positions.examples };
}

type Side = (options: CompareOptions, table: string) => string;

/** Columns: key (text), h (checksum), n (rows) and moved (the live table is ahead). */
const SIDES: Readonly<Record<ProjectionName, Side>> = {
  events: (options, table) =>
    `SELECT concat(toString(_partition), ':', toString(intDiv(_offset, ${RANGE}))) AS key, sum(${checksum(EVENT_COLUMNS)}) AS h, count() AS n, 0 AS moved FROM ${table} WHERE ${comparableEvents(options)} GROUP BY key`,
  profiles: (options, table) =>
    `SELECT concat(toString(account_id), ' ', name) AS key, ${checksum(PROFILE_COLUMNS)} AS h, 1 AS n, NOT (${withinProgress(options)}) AS moved FROM ${table} FINAL`,
  identities: (_, table) =>
    `SELECT concat(toString(account_id), ' ', name) AS key, cityHash64(canonical) AS h, 1 AS n, 0 AS moved FROM ${table} FINAL WHERE canonical != name`,
  catalogue: (options, table) =>
    `SELECT concat(toString(account_id), ' ', toString(day), ' ', event) AS key, cityHash64(sum(count), arraySort(groupUniqArrayArray(prop_keys)), max(last_seen)) AS h, count() AS n, 0 AS moved
     FROM ${table} FINAL WHERE day >= toDate(${retentionStart(options)}, 'Asia/Tehran') AND day >= today() - 99 GROUP BY account_id, day, event`,
  quality: (options, table) =>
    `SELECT concat(toString(account_id), ' ', toString(day), ' ', kind, ' ', code) AS key, sum(cityHash64(field, sdk, app_id, gateway, sequence, count)) AS h, count() AS n, 0 AS moved
     FROM ${table} FINAL WHERE day > toDate(${retentionStart(options)}, 'Asia/Tehran') GROUP BY account_id, day, kind, code`,
  messages: (options, table) =>
    `SELECT concat(toString(account_id), ' ', toString(campaign_id), ' ', toString(run_id)) AS key, sum(${checksum(MESSAGE_COLUMNS)}) AS h, count() AS n, max(NOT (${outcomesRead(options)})) AS moved
     FROM ${table} FINAL WHERE planned_at >= ${retentionStart(options)} GROUP BY account_id, campaign_id, run_id`,
};

/** Rows of `messages` whose records the rebuild has read. */
function outcomesRead({ positions }: CompareOptions): string {
  const conditions = Object.entries(positions).map(
    ([partition, { next }]) =>
      `${VERSION_PARTITION} = ${Number(partition)} AND ${VERSION_OFFSET} < ${next}`,
  );
  return conditions.length === 0 ? '0' : conditions.join(' OR ');
}

function eventPositions(options: CompareOptions, table: string, inside: string): string {
  return `SELECT concat(toString(_epoch), '/', toString(_partition), '/', toString(_offset), '/', toString(_index)) AS key, ${checksum(EVENT_COLUMNS)} AS h, 1 AS n, 0 AS moved FROM ${table} WHERE ${inside} AND ${comparableEvents(options)}`;
}

function checksum(columns: readonly string[]): string {
  return `cityHash64(${columns.map((column) => (MAPS.has(column) ? `mapSort(${column})` : NULLABLE.has(column) ? `ifNull(${column}, toDateTime64(0, 3, 'UTC'))` : column)).join(', ')})`;
}

const MAPS = new Set(['properties', 'property_numbers', 'traits', 'trait_numbers', '_stamps']);
const NULLABLE = new Set(['last_order_at']);

function comparableEvents(options: CompareOptions): string {
  return `(${withinProgress(options)}) AND timestamp >= ${retentionStart(options)}`;
}

function withinProgress({ positions }: CompareOptions): string {
  const conditions = Object.entries(positions).map(
    ([partition, { place }]) =>
      `_partition = ${Number(partition)} AND (_offset, _index) <= (${place.offset}, ${place.index})`,
  );
  return conditions.length === 0 ? '0' : conditions.join(' OR ');
}

/** Start of an account's retention as SQL, a day later: it is enforced daily. */
function retentionStart({ retentions, now }: CompareOptions): string {
  const own = [...retentions].filter(([, days]) => days > 0 && days < MAX_RETENTION_DAYS);
  const at = (days: number) => now - (days - 1) * DAY;
  const otherwise = `toInt64(${at(MAX_RETENTION_DAYS)})`;
  const edge =
    own.length === 0
      ? otherwise
      : `transform(account_id, [${own.map(([id]) => id).join(', ')}], [${own.map(([, days]) => at(days)).join(', ')}], ${otherwise})`;
  return `fromUnixTimestamp64Milli(toInt64(${edge}), 'UTC')`;
}

interface PassResult {
  live: number;
  rebuilt: number;
  compared: number;
  equal: number;
  moved_on: number;
  differing: number;
  examples: [what: string, live: number, rebuilt: number][];
}

async function compareBy(
  { client, cluster, live, rebuilt, onProgress }: CompareOptions,
  side: (table: string) => string,
): Promise<TableComparison> {
  const total: TableComparison = {
    live: 0,
    rebuilt: 0,
    compared: 0,
    equal: 0,
    moved_on: 0,
    differing: 0,
    examples: [],
  };
  for (const table of [live, rebuilt]) await syncReplicas(client, { table, cluster });
  for (let pass = 0; pass < PASSES; pass++) {
    const inPass = `cityHash64(key) % ${PASSES} = ${pass}`;
    const query = `SELECT sum(ln) AS live, sum(bn) AS rebuilt, count() AS compared, countIf(same) AS equal, countIf(NOT same AND m) AS moved_on, countIf(NOT same AND NOT m) AS differing,
        groupArrayIf(${MAX_EXAMPLES})((key, ln, bn), NOT same AND NOT m) AS examples
      FROM (SELECT key, sumIf(n, side) AS ln, sumIf(n, NOT side) AS bn, max(moved) AS m, ln = bn AND maxIf(h, side) = maxIf(h, NOT side) AS same
        FROM (SELECT key, h, n, moved, true AS side FROM (${side(live)}) WHERE ${inPass} UNION ALL SELECT key, h, n, moved, false AS side FROM (${side(rebuilt)}) WHERE ${inPass}) GROUP BY key)`;
    const answer = await client.query({
      query,
      format: 'JSONEachRow',
      clickhouse_settings: {
        ...{
          max_execution_time: 3600,
          max_bytes_before_external_group_by: '1000000000',
          use_query_cache: 0,
          do_not_merge_across_partitions_select_final: 0,
        },
        ...{
          output_format_json_quote_64bit_integers: 0,
          output_format_json_named_tuples_as_objects: 0,
        },
      },
    });
    const [found] = await answer.json<PassResult>();
    onProgress();
    if (found) add(total, found);
  }
  return total;
}

function add(total: TableComparison, found: PassResult): void {
  for (const name of ['live', 'rebuilt', 'compared', 'equal', 'moved_on', 'differing'] as const)
    total[name] += found[name];
  for (const [what, live, rebuilt] of found.examples)
    if (total.examples.length < MAX_EXAMPLES)
      total.examples.push({
        what,
        state: live === 0 ? 'only rebuilt' : rebuilt === 0 ? 'only live' : 'differs',
      });
}

import type { ClickHouseClient } from '@clickhouse/client';
import { onAllReplicas, syncReplicas } from '../../../platform/clickhouse/replicas.ts';
import type { LogPosition } from '../../../schemas/log-position.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

/** A distinct id whose profile and events disagree. */
export interface Difference {
  name: string;
  /** Events in the profile. */
  folded: number;
  /** Its events in ClickHouse. */
  stored: number;
  /** events_lack: rows are missing in `events`, for instance because ClickHouse refused them. */
  kind: 'profile_lacks' | 'events_lack';
}

export interface Comparison {
  /** Distinct ids that were compared. */
  compared: number;
  /** Those with events past the bounds: compared another time. */
  movedOn: number;
  differing: number;
  /** At most MAX_DIFFERENCES of them. */
  differences: Difference[];
}

/** The distinct ids of an account to compare: one share of them, or these. */
export type Selection = { share: number; shares: number } | { names: readonly string[] };

export interface CompareOptions {
  client: ClickHouseClient;
  cluster: string;
  accountId: number;
  selection: Selection;
  /** By partition: up to there both sinks have processed everything. */
  bounds: readonly LogPosition[];
  /** Retention may have deleted events with an earlier timestamp, ms since the epoch. */
  wholeFrom: number;
  signal: AbortSignal;
}

export const MAX_DIFFERENCES = 1000;

/**
 * Compares profiles with their events in ClickHouse, by distinct id: merges of people change
 * neither. Of a person whose events are all younger than the retention the numbers must be equal.
 * Of an older one the events that are left must not be more than those in the profile, and none of
 * them may come after its position. Profiles with events past the bounds are left out, because a
 * sink may not have stored these events yet.
 */
export async function compareProfiles(options: CompareOptions): Promise<Comparison> {
  const { cluster, accountId, selection, bounds, wholeFrom, signal } = options;
  const client = onAccount(options.client, accountId);
  for (const table of ['events', 'profiles']) await syncReplicas(client, { table, cluster });
  const of = (person: string, name: string) =>
    'names' in selection
      ? `${name} IN {names:Array(String)}`
      : `${person} % {shares:UInt32} = {share:UInt32}`;
  const within = withinBounds(bounds);
  const query = `
    WITH found AS (
      SELECT name, max(f) AS folded, max(s) AS stored, max(whole) AS is_whole, max(ahead) AS is_ahead,
        max(last_folded) AS folded_to, max(last_stored) AS stored_to
      FROM (
        SELECT name, event_count AS f, 0 AS s, first_seen >= fromUnixTimestamp64Milli({whole:Int64}, 'UTC') AS whole, NOT (${within}) AS ahead,
          (toUInt64(_epoch), _offset, toUInt64(_index)) AS last_folded, (toUInt64(0), toUInt64(0), toUInt64(0)) AS last_stored
        FROM ${onAllReplicas('profiles', cluster)} FINAL WHERE account_id = {account:UInt64} AND ${of('_person', 'name')}
        UNION ALL
        SELECT if(user_id != '', user_id, anonymous_id) AS name, 0 AS f, count() AS s, false AS whole, false AS ahead,
          (toUInt64(0), toUInt64(0), toUInt64(0)) AS last_folded, max((toUInt64(_epoch), _offset, toUInt64(_index))) AS last_stored
        FROM ${onAllReplicas('events', cluster)} WHERE account_id = {account:UInt64} AND (${within}) AND ${of('_person', "if(user_id != '', user_id, anonymous_id)")}
        GROUP BY name
      ) GROUP BY name
    )
    SELECT countIf(NOT is_ahead) AS compared, countIf(is_ahead) AS moved_on, countIf(lacks OR extra) AS differing,
      groupArrayIf(${MAX_DIFFERENCES})((name, folded, stored, lacks), lacks OR extra) AS differences
    FROM (SELECT *, NOT is_ahead AND (stored > folded OR stored > 0 AND stored_to > folded_to) AS lacks,
      NOT is_ahead AND is_whole AND stored < folded AS extra FROM found)`;
  const answer = await client.query({
    query,
    query_params: { account: accountId, whole: Math.ceil(wholeFrom), ...selection },
    format: 'JSONEachRow',
    abort_signal: signal,
    clickhouse_settings: {
      ...{ max_execution_time: 1800, max_threads: 1, use_query_cache: 0 },
      max_bytes_before_external_group_by: '500000000',
      output_format_json_quote_64bit_integers: 0,
      output_format_json_named_tuples_as_objects: 0,
      output_format_json_quote_decimals: 0,
    },
  });
  const [row] = await answer.json<{
    compared: number;
    moved_on: number;
    differing: number;
    differences: [name: string, folded: number, stored: number, lacks: number | boolean][];
  }>();
  return {
    compared: row?.compared ?? 0,
    movedOn: row?.moved_on ?? 0,
    differing: row?.differing ?? 0,
    differences: (row?.differences ?? []).map(([name, folded, stored, lacks]) => ({
      ...{ name, folded, stored },
      kind: lacks === 1 || lacks === true ? 'profile_lacks' : 'events_lack',
    })),
  };
}

/** Positions at or below the bound of their partition, as SQL. */
function withinBounds(bounds: readonly LogPosition[]): string {
  const conditions = bounds.map(
    ({ epoch, partition, offset, index }) =>
      `_partition = ${partition} AND (_epoch, _offset, _index) <= (${epoch}, ${offset}, ${index})`,
  );
  return conditions.length === 0 ? 'false' : conditions.join(' OR ');
}

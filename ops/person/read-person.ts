import type { ClickHouseClient } from '@clickhouse/client';
import type { Database } from '../../platform/postgres/pool.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import { eventNameOf } from '../../events/event-name.ts';
import type { WriteOrder } from '../../events/write-order.ts';
import type { Decision } from '../../projections/identities/decisions.ts';

/** An alias that merged a distinct id into another one. */
export interface Merge {
  userId: string;
  order: WriteOrder;
}

/** The event of a merge, and who sent it. */
export interface MergeEvent {
  message_id: string;
  app_id: number;
  /** sdk, server, webhook … */
  source: string;
  /** Name and version of the SDK. */
  library: string;
  /** Empty in rows of version 1. */
  trace: string;
}

export interface ProfileSummary {
  events: number;
  orders: number;
  revenue: number;
  /** ms since the epoch */
  first_seen: number;
  last_seen: number;
}

export interface PersonId {
  distinctId: string;
  /** undefined: the root, or an id that no alias merged. */
  merge: Merge | undefined;
}

export interface Person {
  canonicalId: string;
  ids: PersonId[];
  /** The person has more ids than were read. */
  isCut: boolean;
  /** What operators decided about these ids, oldest first. */
  decisions: Decision[];
}

const MAX_IDS = 200;
/** Name of every alias event: with it a query reads few rows of the account. */
const ALIAS = eventNameOf('alias', undefined);

const CANONICAL = 'SELECT canonical FROM identity_names WHERE account_id = $1 AND name = $2';
const NAMES = `SELECT name, joined_to, received_at::float8, epoch, partition, log_offset::float8, log_index FROM identity_names
  WHERE account_id = $1 AND canonical = $2 ORDER BY joined_to IS NOT NULL, received_at, name LIMIT ${MAX_IDS + 1}`;
const UNDOS =
  'SELECT previous_id, until::float8, decided_at::float8 FROM alias_undos WHERE account_id = $1 AND previous_id = ANY($2::text[])';
const PAIRS = `SELECT name, other, apart, decided_at::float8 FROM alias_pairs
  WHERE account_id = $1 AND (name = ANY($2::text[]) OR other = ANY($2::text[])) LIMIT ${MAX_IDS}`;

interface NameRow {
  name: string;
  joined_to: string | null;
  received_at: number;
  epoch: number;
  partition: number;
  log_offset: number;
  log_index: number;
}

/** All ids of the person of a distinct id; one that no alias mentions is a person of its own. */
export async function readPerson(
  database: Pick<Database, 'query'>,
  accountId: number,
  distinctId: string,
): Promise<Person> {
  const known = await database.query<{ canonical: string }>(CANONICAL, [
    accountId,
    escapeText(distinctId),
  ]);
  const canonical = known.rows[0]?.canonical ?? escapeText(distinctId);
  const { rows } = await database.query<NameRow>(NAMES, [accountId, canonical]);
  const ids = rows.slice(0, MAX_IDS).map((row): PersonId => {
    const { received_at: receivedAt, epoch, partition, log_offset: offset, log_index: index } = row;
    const order = { receivedAt, epoch, partition, offset, index };
    const merge =
      row.joined_to === null ? undefined : { userId: unescapeText(row.joined_to), order };
    return { distinctId: unescapeText(row.name), merge };
  });
  if (ids.length === 0) ids.push({ distinctId, merge: undefined });
  const names = [...new Set([distinctId, ...ids.map((id) => id.distinctId)])].map(escapeText);
  return {
    canonicalId: unescapeText(canonical),
    ids,
    isCut: rows.length > MAX_IDS,
    decisions: await readDecisionsAbout(database, accountId, names),
  };
}

async function readDecisionsAbout(
  database: Pick<Database, 'query'>,
  accountId: number,
  names: readonly string[],
): Promise<Decision[]> {
  const undos = await database.query<{ previous_id: string; until: number; decided_at: number }>(
    UNDOS,
    [accountId, names],
  );
  const pairs = await database.query<{
    name: string;
    other: string;
    apart: boolean;
    decided_at: number;
  }>(PAIRS, [accountId, names]);
  return [
    ...undos.rows.map((row): Decision => ({
      ...{ kind: 'undo', previousId: unescapeText(row.previous_id) },
      ...{ until: row.until, decidedAt: row.decided_at },
    })),
    ...pairs.rows.map((row): Decision => ({
      kind: row.apart ? 'keep_apart' : 'rejoin',
      ...{ previousId: unescapeText(row.name), userId: unescapeText(row.other) },
      decidedAt: row.decided_at,
    })),
  ].sort((a, b) => a.decidedAt - b.decidedAt);
}

/** Key of the event of a merge. */
export function orderKey({ epoch, partition, offset, index }: WriteOrder): string {
  return `${epoch}/${partition}/${offset}/${index}`;
}

/** The events of merges, by orderKey; those past the retention of the account are missing. */
export async function readMergeEvents(
  client: ClickHouseClient,
  accountId: number,
  merges: readonly Merge[],
): Promise<Map<string, MergeEvent>> {
  if (merges.length === 0) return new Map();
  const times = [...new Set(merges.map(({ order }) => Math.trunc(order.receivedAt)))];
  const received = times.map((ms) => `fromUnixTimestamp64Milli(${ms}, 'UTC')`).join(', ');
  const answer = await client.query({
    query: `SELECT concat(toString(_epoch), '/', toString(_partition), '/', toString(_offset), '/', toString(_index)) AS key,
        message_id, app_id, source, trim(concat(library_name, ' ', library_version)) AS library, _trace AS trace
      FROM events WHERE account_id = {account:UInt64} AND event = {event:String} AND type = 'alias' AND received_at IN (${received})
        AND key IN {keys:Array(String)}`,
    query_params: {
      account: accountId,
      event: ALIAS,
      keys: merges.map(({ order }) => orderKey(order)),
    },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 10, output_format_json_quote_64bit_integers: 0 },
  });
  const rows = await answer.json<MergeEvent & { key: string }>();
  return new Map(rows.map(({ key, ...event }) => [key, event]));
}

/** Profiles of distinct ids; one without events has none. */
export async function readProfiles(
  client: ClickHouseClient,
  accountId: number,
  distinctIds: readonly string[],
): Promise<Map<string, ProfileSummary>> {
  const answer = await client.query({
    query: `SELECT name, event_count AS events, order_count AS orders, toFloat64(total_revenue) AS revenue,
        toUnixTimestamp64Milli(first_seen) AS first_seen, toUnixTimestamp64Milli(last_seen) AS last_seen
      FROM profiles FINAL WHERE account_id = {account:UInt64} AND name IN {names:Array(String)}`,
    query_params: { account: accountId, names: distinctIds },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 10, output_format_json_quote_64bit_integers: 0 },
  });
  const rows = await answer.json<ProfileSummary & { name: string }>();
  return new Map(rows.map(({ name, ...profile }) => [name, profile]));
}

/** Names of apps by id. */
export async function readApps(
  database: Pick<Database, 'query'>,
  accountId: number,
): Promise<Map<number, string>> {
  const { rows } = await database.query<{ id: number; name: string }>(
    'SELECT id::float8, name FROM apps WHERE account_id = $1',
    [accountId],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

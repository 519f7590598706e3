import { MAX_RETENTION_DAYS } from '../../../events/retention.ts';
import {
  DAYS_UNTIL,
  beforeSql,
  sinceSql,
  untilSql,
} from '../../../platform/clickhouse/event-time.ts';
import { SqlParams, type CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import type { ReportReads } from './reads.ts';

const DAY = 86_400_000;
/**
 * Events of this age, days, may expire (KEPT_EVENTS) while a report runs: one more than a report
 * lasts.
 */
const EXPIRING_DAYS = MAX_RETENTION_DAYS - 1;
/** Where no event is about to expire, none expires for so long, ms: half of the day above. */
export const NONE_EXPIRES_MS = DAY / 2;
/**
 * So far ahead of the moment of asking events are looked for that leave a window, ms: until then
 * nobody has to look again.
 */
export const AHEAD_MS = 300_000;
/** The state of more parts is not kept. */
const MAX_PARTS = 4000;

/** What decides the answer of a report, as ClickHouse holds it at one moment. */
export interface DataState {
  /** UUIDs of the tables: EXCHANGE TABLES of a rebuild changes them. */
  tables: string;
  /**
   * Active parts of the months that the report reads. A part never changes: a merge, an insert, a
   * mutation and a drop make another set of names.
   */
  parts: readonly string[];
  /** Active parts of `profiles`; empty for a report that reads no traits. */
  profiles: string;
  /** Count and hash of the account's rows of identities_flat, with their revisions. */
  identities: string;
  /** The last mutation of `events`: deletions, of erasure and of retention. */
  mutation: string;
}

export interface StateRow {
  kind:
    'table' | 'part' | 'profiles' | 'identities' | 'mutation' | 'needed' | 'expiring' | 'leaving';
  name: string;
  detail: string;
}

/** The state, and what follows from it. */
export interface ReadState {
  state: DataState;
  /** False: no event is stored without which the report counts nobody. */
  hasNeeded: boolean;
  hasAliases: boolean;
  /**
   * The last moment of asking, ms, for which all events are in their windows that were there at
   * `between.from`: the first one leaves after it. Infinity: none leaves until AHEAD_MS after
   * `between.to`.
   */
  unchangedUntil: number;
  /** An answer may be kept with this state. */
  isComparable: boolean;
}

const OWN = 'database = currentDatabase()';
const TABLES = `SELECT 'table' AS kind, name, toString(uuid) AS detail FROM system.tables WHERE ${OWN} AND name IN ('events', 'identities_flat', 'profiles')`;

/** Only the tables' UUIDs, as rows of the state. */
export function compileTables(): CompiledQuery {
  return { sql: TABLES, params: {} };
}

interface StateOptions {
  accountId: number;
  reads: ReportReads;
  /** ms since the epoch. */
  now: number;
  /** Whether to ask for an event without which the report counts nobody. */
  asksNeeded: boolean;
  /** Whether to ask for an event that may expire soon; true by default. */
  asksExpiring?: boolean;
  /** Two moments of asking, ms: whether an event leaves a window between them, or soon after. */
  between: { from: number; to: number } | undefined;
}

/** The statement whose rows are StateRow. */
export function compileState({
  accountId,
  reads,
  now,
  asksNeeded,
  asksExpiring = true,
  between,
}: StateOptions): CompiledQuery {
  const params = new SqlParams();
  const account = `account_id = ${params.whole(accountId)}`;
  const [from, to] = [monthOf(reads.from), monthOf(reads.to)].map((month) => params.text(month));
  const oneOf = (names: readonly string[] | undefined): string =>
    names === undefined ? '' : ` AND event IN ${params.bind('Array(String)', [...new Set(names)])}`;
  const range = `${sinceSql(reads.from, params)} AND ${untilSql(reads.to, params)}`;
  const inRange = `partition_id BETWEEN ${from} AND ${to}`;
  // each branch of the statement costs a millisecond: windows share one
  const leaving = (between ? (reads.windows ?? []) : []).map(({ days, events }) => {
    const { from: since, to: until } = between ?? { from: 0, to: 0 };
    const when = `${sinceSql(since - days * DAY, params)} AND ${beforeSql(until + AHEAD_MS - days * DAY, params)}${oneOf(events)}`;
    return { when, last: `toUnixTimestamp64Milli(timestamp) + ${days * DAY}` };
  });
  const rows = [
    TABLES,
    reads.profiles
      ? `SELECT if(table = 'events', 'part', 'profiles'), name, '' FROM system.parts WHERE ${OWN} AND table IN ('events', 'profiles') AND active AND (table = 'profiles' OR ${inRange})`
      : `SELECT 'part', name, '' FROM system.parts WHERE ${OWN} AND table = 'events' AND active AND ${inRange}`,
    `SELECT 'identities', toString(count()), toString((max(version), groupBitXor(sipHash64(name, canonical, version)))) FROM identities_flat FINAL WHERE ${account}`,
    `SELECT 'mutation', toString(countIf(NOT is_done)), toString(max(toUInt64OrZero(extract(mutation_id, '[0-9]+')))) FROM system.mutations WHERE ${OWN} AND table = 'events'`,
    ...(asksNeeded && reads.needed !== undefined
      ? [
          `SELECT 'needed', toString(count()), '' FROM (SELECT 1 FROM events WHERE ${account}${oneOf(reads.needed)} AND ${range} LIMIT 1)`,
        ]
      : []),
    ...(asksExpiring && reads.from < now - (EXPIRING_DAYS - 1) * DAY
      ? [
          `SELECT 'expiring', toString(count()), '' FROM (SELECT 1 FROM events WHERE ${account}${oneOf(reads.events)} AND toDate(timestamp) <= toDate(now64(3, 'UTC') - INTERVAL ${EXPIRING_DAYS} DAY) LIMIT 1)`,
        ]
      : []),
    ...(leaving.length > 0
      ? [
          `SELECT 'leaving', toString(count()), toString(min(arrayMin([${leaving.map(({ when, last }) => `if(${when}, ${last}, toInt64(${Number.MAX_SAFE_INTEGER}))`).join()}]))) FROM events WHERE ${account} AND (${leaving.map(({ when }) => `(${when})`).join(' OR ')})`,
        ]
      : []),
  ];
  return { sql: `${rows.join(' UNION ALL ')} SETTINGS max_threads = 1`, params: params.values() };
}

const NO_UUID = '00000000-0000-0000-0000-000000000000';

/** The UUIDs of the tables in one text; undefined: some is not visible, or has none. */
export function tablesIn(rows: readonly StateRow[]): string | undefined {
  const tables = rows.filter(({ kind }) => kind === 'table');
  if (tables.length < 3 || tables.some(({ detail }) => detail === NO_UUID)) return undefined;
  return tables
    .map(({ name, detail }) => `${name} ${detail}`)
    .sort()
    .join();
}

/**
 * An answer is comparable when everything that changes it would be seen: the tables have UUIDs, the
 * parts are visible to this user of ClickHouse, no mutation runs, and no event of the report is
 * about to expire, as far as that was asked.
 */
export function readState(rows: readonly StateRow[]): ReadState {
  const of = (kind: StateRow['kind']): StateRow[] => rows.filter((row) => row.kind === kind);
  const [identities] = of('identities');
  const [mutation] = of('mutation');
  const [leaving] = of('leaving');
  const tables = tablesIn(rows);
  const namesOf = (kind: StateRow['kind']) => of(kind).map(({ name }) => name);
  const parts = namesOf('part');
  const hasNeeded = of('needed')[0]?.name !== '0';
  return {
    state: {
      tables: tables ?? '',
      parts,
      profiles: namesOf('profiles').sort().join(),
      identities: `${identities?.name ?? ''} ${identities?.detail ?? ''}`,
      mutation: mutation?.detail ?? '',
    },
    hasNeeded,
    hasAliases: identities?.name !== '0',
    unchangedUntil: leaving && leaving.name !== '0' ? Number(leaving.detail) : Infinity,
    isComparable:
      tables !== undefined &&
      mutation?.name === '0' &&
      (parts.length > 0 || !hasNeeded) &&
      parts.length <= MAX_PARTS &&
      of('expiring').every(({ name }) => name === '0'),
  };
}

/**
 * Rows of the report's events by part; a part without any has no row. Of a report that reads events
 * of any name all rows of the account are counted, which the primary key alone answers: more rows
 * than it reads, so that another number may run it again for nothing.
 */
export function compilePartCounts({
  accountId,
  reads,
  parts,
}: {
  accountId: number;
  reads: ReportReads;
  parts: readonly string[];
}): CompiledQuery {
  const params = new SqlParams();
  // A later day wraps around in the type Date, and no part would have a row.
  const ofDay = (compare: '>=' | '<=', time: number): string[] =>
    time >= DAYS_UNTIL
      ? []
      : [`toDate(timestamp) ${compare} toDate(${params.instant(Math.max(0, time))})`];
  const where = [
    `account_id = ${params.whole(accountId)}`,
    ...(reads.events === undefined
      ? []
      : [
          `event IN ${params.bind('Array(String)', [...new Set(reads.events)])}`,
          ...[...ofDay('>=', reads.from), ...ofDay('<=', reads.to)],
        ]),
    params.isTextIn('_part', parts),
  ];
  const sql = `SELECT _part AS part, count() AS rows FROM events WHERE ${where.join(' AND ')} GROUP BY part`;
  return { sql, params: params.values() };
}

/** The month of an instant as `events` names its partitions. */
function monthOf(time: number): string {
  return new Date(Math.max(0, time)).toISOString().slice(0, 7).replace('-', '');
}

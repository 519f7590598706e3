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
  kind: 'table' | 'part' | 'profiles' | 'identities' | 'mutation' | 'needed' | 'expiring' | 'left';
  name: string;
  detail: string;
}

/** The state, and what follows from it. */
export interface ReadState {
  state: DataState;
  /** False: no event is stored without which the report counts nobody. */
  hasNeeded: boolean;
  hasAliases: boolean;
  /** An event has left a window that ends at the moment of asking. */
  hasLeft: boolean;
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
  /** Two moments of asking, ms: whether an event has left the windows between them. */
  between: { from: number; to: number } | undefined;
}

/** The statement whose rows are StateRow. */
export function compileState({
  accountId,
  reads,
  now,
  asksNeeded,
  between,
}: StateOptions): CompiledQuery {
  const params = new SqlParams();
  const account = `account_id = ${params.whole(accountId)}`;
  const [from, to] = [monthOf(reads.from), monthOf(reads.to)].map((month) => params.text(month));
  const oneOf = (names: readonly string[] | undefined): string =>
    names === undefined ? '' : ` AND event IN ${params.bind('Array(String)', [...new Set(names)])}`;
  const range = `${sinceSql(reads.from, params)} AND ${untilSql(reads.to, params)}`;
  const rows = [
    TABLES,
    `SELECT 'part', name, '' FROM system.parts WHERE ${OWN} AND table = 'events' AND active AND partition_id BETWEEN ${from} AND ${to}`,
    `SELECT 'identities', toString(count()), toString((max(version), groupBitXor(sipHash64(name, canonical, version)))) FROM identities_flat FINAL WHERE ${account}`,
    `SELECT 'mutation', toString(countIf(NOT is_done)), toString(max(toUInt64OrZero(extract(mutation_id, '[0-9]+')))) FROM system.mutations WHERE ${OWN} AND table = 'events'`,
    ...(asksNeeded && reads.needed !== undefined
      ? [
          `SELECT 'needed', toString(count()), '' FROM (SELECT 1 FROM events WHERE ${account}${oneOf(reads.needed)} AND ${range} LIMIT 1)`,
        ]
      : []),
    ...(reads.profiles
      ? [
          `SELECT 'profiles', '', toString(arraySort(groupArray(name))) FROM system.parts WHERE ${OWN} AND table = 'profiles' AND active`,
        ]
      : []),
    ...(reads.from < now - (EXPIRING_DAYS - 1) * DAY
      ? [
          `SELECT 'expiring', toString(count()), '' FROM (SELECT 1 FROM events WHERE ${account}${oneOf(reads.events)} AND toDate(timestamp) <= toDate(now64(3, 'UTC') - INTERVAL ${EXPIRING_DAYS} DAY) LIMIT 1)`,
        ]
      : []),
    ...(reads.windows ?? []).flatMap(({ days, events }) => {
      if (!between || between.from === between.to) return [];
      const left = `${sinceSql(between.from - days * DAY, params)} AND ${beforeSql(between.to - days * DAY, params)}`;
      return [
        `SELECT 'left', toString(count()), '' FROM (SELECT 1 FROM events WHERE ${account}${oneOf(events)} AND ${left} LIMIT 1)`,
      ];
    }),
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
 * about to expire.
 */
export function readState(rows: readonly StateRow[]): ReadState {
  const of = (kind: StateRow['kind']): StateRow[] => rows.filter((row) => row.kind === kind);
  const [identities] = of('identities');
  const [mutation] = of('mutation');
  const tables = tablesIn(rows);
  const parts = of('part').map(({ name }) => name);
  const hasNeeded = of('needed')[0]?.name !== '0';
  return {
    state: {
      tables: tables ?? '',
      parts,
      profiles: of('profiles')[0]?.detail ?? '',
      identities: `${identities?.name ?? ''} ${identities?.detail ?? ''}`,
      mutation: mutation?.detail ?? '',
    },
    hasNeeded,
    hasAliases: identities?.name !== '0',
    hasLeft: of('left').some(({ name }) => name !== '0'),
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

import type { Merges } from '../../../audiences/people-sql.ts';
import { SqlParams, type CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import { funnelPeople } from '../funnel/compile.ts';
import { retentionMembers } from '../retention/first-time-sql.ts';
import { periodsOf } from '../retention/periods.ts';
import { pathsByPerson } from '../paths/compile.ts';
import { matchedEvents } from '../trends/compile.ts';
import type { PeopleRequest } from './request.ts';

/** People listed at most. */
export const MAX_PEOPLE = 10_000;

/** A person behind a number. */
export interface PersonRow {
  person: string;
  name: string;
  /** ms since the epoch. */
  first: number;
  last: number;
  orders: number;
  revenue: number;
}

interface PeopleOptions {
  asked: PeopleRequest;
  accountId: number;
  merges: Merges;
}

/** The people behind a number of a report, those seen last first; its rows are PersonRow. */
export function compilePeople({ asked, accountId, merges }: PeopleOptions): CompiledQuery {
  const params = new SqlParams();
  const hashes = hashesOf({ asked, accountId, merges, params });
  return listed(`sipHash64(person) IN (${hashes})`, { accountId, params });
}

/** Hashes of one parameter: ClickHouse takes at most 128 KiB in one. */
const MAX_HASHES = 5000;

/** The same list of people whose hashes are known. */
export function compileListed(hashes: readonly bigint[], accountId: number): CompiledQuery {
  const params = new SqlParams();
  const sides = [];
  for (let at = 0; at < hashes.length; at += MAX_HASHES) {
    const part = params.bind('Array(UInt64)', hashes.slice(at, at + MAX_HASHES));
    sides.push(`sipHash64(person) IN ${part}`);
  }
  return listed(`(${sides.join(' OR ')})`, { accountId, params });
}

function listed(
  isOne: string,
  { accountId, params }: Pick<PeopleOptions, 'accountId'> & { params: SqlParams },
): CompiledQuery {
  const columns = [
    'person',
    "trim(concat(first_name, ' ', last_name)) AS name",
    'toUnixTimestamp64Milli(first_seen) AS first',
    'toUnixTimestamp64Milli(last_seen) AS last',
    'order_count AS orders',
    'toFloat64(total_revenue) AS revenue',
  ];
  const sql = `SELECT ${columns.join(', ')} FROM people WHERE account_id = ${params.whole(accountId)} AND ${isOne} ORDER BY last_seen DESC, person LIMIT ${MAX_PEOPLE}`;
  return { sql, params: params.values() };
}

/** SELECT of the hashes of the people. */
function hashesOf({ asked, ...options }: PeopleOptions & { params: SqlParams }): string {
  switch (asked.kind) {
    case 'funnel': {
      const { request, step, isLost } = asked;
      const depth = isLost ? `depth = ${step - 1}` : `depth >= ${step}`;
      return `SELECT person FROM (${funnelPeople({ request, ...options })}) WHERE ${depth}`;
    }
    case 'retention': {
      const { request, cohort, period } = asked;
      const members = retentionMembers({ request, ...options, periods: periodsOf(request) });
      const isBack = period === undefined ? 'true' : `bitTest(pattern, ${period})`;
      return `SELECT person FROM (${members}) WHERE cohort = ${cohort} AND ${isBack}`;
    }
    case 'paths': {
      const { request, path, isEnd } = asked;
      const { params } = options;
      const names = `[${path.map((name) => params.text(name)).join(', ')}]`;
      const isOn = path.length === 0 ? 'true' : `arraySlice(path, 1, ${path.length}) = ${names}`;
      const isLast = isEnd ? `length(path) = ${path.length}` : 'true';
      return `SELECT person FROM (${pathsByPerson({ request, ...options })}) WHERE ${isOn} AND ${isLast}`;
    }
    case 'trends': {
      const { request, series, period } = asked;
      const isIn = period === undefined ? 'true' : `period = ${period}`;
      return `SELECT DISTINCT person FROM (${matchedEvents({ request, ...options })}) WHERE series = ${series} AND ${isIn}`;
    }
  }
}

import type { Row } from './rows.ts';

/**
 * Keys (account, event, day) in one query: more go into the next, so that a query stays far below
 * ClickHouse's limit of its size.
 */
const KEYS_A_QUERY = 500;

/** Between these the type of the column agrees with JavaScript on the day of a timestamp, ms. */
const DAYS_FROM = 0;
const DAYS_UNTIL = Date.UTC(2100, 0, 1);

/**
 * Queries that find which of the rows are stored. Their predicates come from the rows themselves
 * (account, event, day), so the primary key leads to them however large the table is.
 */
export function lookups(
  where: { table: string; partition: number },
  rows: readonly Row[],
): string[] {
  const groups = new Map<string, { key: string; rows: Row[] }>();
  for (const row of rows) {
    const key = `${row.account_id}, ${literal(row.event)}`;
    const whole =
      row.timestamp >= DAYS_FROM && row.timestamp < DAYS_UNTIL
        ? `(${key}, '${dayOf(row.timestamp)}')`
        : `(${key})`;
    const group = groups.get(whole);
    if (group) group.rows.push(row);
    else groups.set(whole, { key: whole, rows: [row] });
  }
  const all = [...groups.values()];
  const dated = all.filter(
    ({ rows: [row] }) => row && row.timestamp >= DAYS_FROM && row.timestamp < DAYS_UNTIL,
  );
  const others = all.filter((group) => !dated.includes(group));
  return [
    ...chunks(dated).map((chunk) => lookup(where, chunk, '(account_id, event, toDate(timestamp))')),
    ...chunks(others).map((chunk) => lookup(where, chunk, '(account_id, event)')),
  ];
}

function lookup(
  { table, partition }: { table: string; partition: number },
  groups: { key: string; rows: Row[] }[],
  columns: string,
): string {
  const rows = groups.flatMap((group) => group.rows);
  const [fromTime, toTime] = range(rows.map(({ timestamp }) => timestamp));
  const [fromOffset, toOffset] = range(rows.map(({ mark }) => mark.offset));
  return `SELECT _epoch, _offset, _index FROM ${table}
WHERE ${columns} IN (${groups.map(({ key }) => key).join(', ')})
AND timestamp BETWEEN fromUnixTimestamp64Milli(${fromTime}, 'UTC') AND fromUnixTimestamp64Milli(${toTime}, 'UTC')
AND _partition = ${partition} AND _offset BETWEEN ${fromOffset} AND ${toOffset}`;
}

function chunks<T>(values: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(values.length / KEYS_A_QUERY) }, (_, at) =>
    values.slice(at * KEYS_A_QUERY, (at + 1) * KEYS_A_QUERY),
  );
}

function range(values: readonly number[]): [number, number] {
  return [
    values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  ];
}

function dayOf(timestamp: number): string {
  return new Date(timestamp).toISOString().slice(0, 10);
}

function literal(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

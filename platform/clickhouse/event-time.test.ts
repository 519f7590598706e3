import { expect, it } from 'vitest';
import { beforeSql, sinceSql, untilSql } from './event-time.ts';
import { SqlParams } from './sql.ts';

const DAY = 86_400_000;

/** The days that a condition names. */
function daysOf(condition: (params: SqlParams) => string): unknown[] {
  const params = new SqlParams();
  const sql = condition(params);
  return [...sql.matchAll(/toDate\(\{(p\d+):Int64\}\)/g)].map(
    ([, name = '']) => params.values()[name],
  );
}

it('a midnight begins a day, and what is before it needs the day before only', () => {
  expect(daysOf((params) => sinceSql(5 * DAY, params))).toEqual([5]);
  expect(daysOf((params) => untilSql(5 * DAY, params))).toEqual([5]);
  expect(daysOf((params) => beforeSql(5 * DAY, params))).toEqual([4]);
  expect(daysOf((params) => beforeSql(5 * DAY + 1, params))).toEqual([5]);
  // PostgreSQL's clock has parts of milliseconds; events have none
  expect(daysOf((params) => beforeSql(5 * DAY + 0.5, params))).toEqual([4]);
});

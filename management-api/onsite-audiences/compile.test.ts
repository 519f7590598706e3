import { expect, it } from 'vitest';
import { readAudience } from '../../audiences/read.ts';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { compileMembers } from './compile.ts';

function compile(merges: 'none' | 'table'): { sql: string; params: Record<string, unknown> } {
  const read = readAudience({ attribute: 'city', op: 'eq', value: 'تهران' });
  if (!read.ok) throw new Error(read.message);
  const params = new SqlParams();
  const sql = compileMembers(
    { audience: read.audience.root, limit: 11 },
    { accountId: 7, now: 0, today: 0, merges, params },
  );
  return { sql, params: params.values() };
}

it('the names of members are hashed in ClickHouse, sorted, each once, and bounded', () => {
  const { sql, params } = compile('none');
  expect(sql).toMatch(/^SELECT DISTINCT name FROM \(/);
  expect(sql).toMatch(/ORDER BY name LIMIT \{p\d:Int64\} FORMAT RowBinary$/);
  expect(sql).toContain("SHA256(concat(toString({p0:Int64}), '\\0', person))");
  expect(sql).not.toContain('identities_flat');
  expect(Object.values(params)).toEqual(expect.arrayContaining([7, 11]));
});

it('all names of merged people are names of members', () => {
  const { sql } = compile('table');
  expect(sql).toContain('arrayJoin(arrayPushBack(others, person))');
  expect(sql).toMatch(/FROM identities_flat FINAL\s+WHERE account_id = \{p0:Int64\}/);
});

it('the audience is evaluated once', () => {
  for (const merges of ['none', 'table'] as const)
    expect(compile(merges).sql.match(/FROM people WHERE/g)).toHaveLength(1);
});

import { expect, it } from 'vitest';
import { readAudience } from '../../../audiences/read.ts';
import { SqlParams } from '../../../platform/clickhouse/sql.ts';
import { compileFreeze } from './compile.ts';

function compiled(definition: unknown, percent = 0) {
  const outcome = readAudience(definition);
  if (!outcome.ok) throw new Error(outcome.message);
  const params = new SqlParams();
  const audience = outcome.audience.root;
  const query = { accountId: 9, campaignId: 3, runId: 7, attempt: 2, audience, percent, at: 1000 };
  const sql = compileFreeze(
    { ...query, into: 'frozen' },
    { accountId: 9, now: 1000, today: 0, merges: 'table', params },
  );
  return { sql, params: params.values() };
}

it('an audience is frozen by one statement that sorts nothing and holds no client’s text', () => {
  const { sql, params } = compiled({ trait: "x'); DROP TABLE people", op: 'eq', value: 'y' }, 10);
  expect(sql).toMatch(/^INSERT INTO frozen \(/);
  expect(sql).not.toContain('ORDER BY');
  expect(sql).not.toContain('DROP');
  expect(Object.values(params)).toEqual(expect.arrayContaining([9, 7, 2, 1000]));
});

it('names that conditions share stand before the SELECT', () => {
  const birthday = { attribute: 'days_until_birthday', op: 'lte', value: 7 };
  expect(compiled(birthday).sql).toMatch(/frozen_at\)\s+WITH .* SELECT /s);
});

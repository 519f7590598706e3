import { expect, it } from 'vitest';
import { detailsText, readChanges, type Change } from './read-changes.ts';

it('audit lines and migrations of a period are one list, oldest first, and the newest of many', async () => {
  const line = (at: number): Change => ({
    ...{ at, accountId: 7, actor: 'operator', action: 'account.changed', details: {} },
  });
  const asked: unknown[][] = [];
  const database = {
    query(text: string, values: unknown[]) {
      asked.push(values);
      const isLines = text.includes('audit_lines');
      const rows = isLines ? [line(5), line(3)] : [{ at: 4, name: '0040_x.sql' }];
      return Promise.resolve({ rows });
    },
  } as unknown as Parameters<typeof readChanges>[0];
  const found = await readChanges(database, { since: 1, accountId: undefined, limit: 2 });
  expect(found.map(({ at, action }) => [at, action])).toEqual([
    [4, 'migration.ran'],
    [5, 'account.changed'],
  ]);
  expect(asked).toEqual([
    [1, null, 2],
    [1, 2],
  ]);
  await readChanges(database, { since: 1, accountId: 7, limit: 2 });
  expect(asked.slice(2)).toEqual([[1, 7, 2]]);
});

it('details are one line, without what is empty, and a long value is cut', () => {
  const details = { retention_days: 30, before: { retention_days: 365 }, note: '', x: null };
  expect(detailsText(details)).toBe('retention_days=30, before={"retention_days":365}');
  expect(detailsText({ note: 'n'.repeat(200) })).toBe(`note=${'n'.repeat(80)}…`);
});

import { expect, test } from 'vitest';
import { answerRetention, type RetentionRow } from './answer.ts';
import { parseRetention } from './request.ts';

const body = {
  start: { event: 'a' },
  return: { event: 'b' },
  from: '2026-09-01',
  to: '2026-09-04',
  timezone: 'UTC',
  periods: 3,
};
const rows: RetentionRow[] = [
  { kind: 'all', value: null, cohort: 1, size: 4, returned: [1, 2, 3] },
];

function cohorts(freshUntil: string): ReturnType<typeof answerRetention> {
  const parsed = parseRetention(body);
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return answerRetention({
    request: parsed.request,
    rows,
    measured: { freshUntil: Date.parse(freshUntil), rowsRead: 0, elapsedMs: 0 },
  });
}

test('a cohort is listed for every period, empty ones too', () => {
  const answer = cohorts('2026-10-01T00:00:00Z');
  expect(answer.cohorts).toEqual([
    { start: '2026-09-01', size: 0, returned: [0, 0, 0] },
    { start: '2026-09-02', size: 4, returned: [1, 2, 3] },
    { start: '2026-09-03', size: 0, returned: [0, 0, 0] },
  ]);
  expect(answer.meta.incomplete).toBe(false);
});

test('there is one entry per period that has begun; incomplete_from is the first that is not over', () => {
  const answer = cohorts('2026-09-03T12:00:00Z');
  expect(answer.cohorts).toEqual([
    { start: '2026-09-01', size: 0, returned: [0, 0, 0], incomplete_from: 2 },
    { start: '2026-09-02', size: 4, returned: [1, 2], incomplete_from: 1 },
    { start: '2026-09-03', size: 0, returned: [0], incomplete_from: 0 },
  ]);
  expect(answer.meta.incomplete).toBe(true);
});

test('at fresh_until, a period that begins has begun and one that ends is over', () => {
  expect(cohorts('2026-09-02T00:00:00Z').cohorts).toEqual([
    { start: '2026-09-01', size: 0, returned: [0, 0], incomplete_from: 1 },
    { start: '2026-09-02', size: 4, returned: [1], incomplete_from: 0 },
    { start: '2026-09-03', size: 0, returned: [] },
  ]);
});

import { expect, test } from 'vitest';
import { answerFunnel, type FunnelRow } from './answer.ts';
import { parseFunnel } from './request.ts';

const body = {
  steps: [{ event: 'a' }, { event: 'b' }],
  from: '2026-09-01T00:00:00Z',
  to: '2026-09-02T00:00:00Z',
  window_seconds: 60,
};
const to = Date.parse(body.to);

function answer(
  rows: FunnelRow[],
  options: { breakdown?: object; freshUntil?: number } = {},
): ReturnType<typeof answerFunnel> {
  const parsed = parseFunnel({
    ...body,
    ...(options.breakdown ? { breakdown: options.breakdown } : {}),
  });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return answerFunnel({
    request: parsed.request,
    rows,
    measured: { freshUntil: options.freshUntil ?? to + 60_000, rowsRead: 5, elapsedMs: 12.4 },
  });
}

const row = (
  kind: FunnelRow['kind'],
  value: string | null,
  counts: number[],
  waits: (number | null)[][],
): FunnelRow => ({
  kind,
  value,
  counts,
  waits,
});

test('conversions are fractions and times are seconds with milliseconds', () => {
  expect(answer([row('all', null, [4, 1], [[1500, 2850.0000000000005]])])).toEqual({
    steps: [
      {
        event: 'a',
        count: 4,
        conversion_from_previous: 1,
        conversion_from_first: 1,
        median_seconds_from_previous: null,
        p90_seconds_from_previous: null,
      },
      {
        event: 'b',
        count: 1,
        conversion_from_previous: 0.25,
        conversion_from_first: 0.25,
        median_seconds_from_previous: 1.5,
        p90_seconds_from_previous: 2.85,
      },
    ],
    meta: {
      fresh_until: '2026-09-02T00:01:00.000Z',
      incomplete: false,
      rows_read: 5,
      elapsed_ms: 12,
    },
  });
});

test('without people, conversions that divide by zero and times are null', () => {
  const [first, second] = answer([row('all', null, [0, 0], [[null, null]])]).steps;
  expect(first).toMatchObject({ count: 0, conversion_from_previous: 1, conversion_from_first: 1 });
  expect(second).toMatchObject({
    count: 0,
    conversion_from_previous: null,
    conversion_from_first: null,
    median_seconds_from_previous: null,
  });
});

test('a funnel is incomplete until the window of the last start is over', () => {
  expect(answer([], { freshUntil: to + 59_999 }).meta.incomplete).toBe(true);
  expect(answer([], { freshUntil: to + 60_000 }).meta.incomplete).toBe(false);
});

test('a breakdown keeps the order of the rows and marks the values past the limit as other', () => {
  const rows = [
    row('all', null, [6, 0], [[]]),
    row('value', 'x', [3, 0], [[]]),
    row('other', null, [2, 0], [[]]),
    row('none', null, [1, 0], [[]]),
  ];
  const { breakdown, steps } = answer(rows, { breakdown: { property: 'p', limit: 1 } });
  expect(steps[0]?.count).toBe(6);
  expect(
    breakdown?.map(({ value, other, steps: [first] }) => [value, other, first?.count]),
  ).toEqual([
    ['x', undefined, 3],
    [null, true, 2],
    [null, undefined, 1],
  ]);
  expect(answer([], { breakdown: { property: 'p' } }).breakdown).toEqual([]);
});

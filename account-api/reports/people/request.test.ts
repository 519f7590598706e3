import { describe, expect, it } from 'vitest';
import { parsePeople } from './request.ts';

const range = { from: '2026-09-20', to: '2026-09-22' };
const funnel = { steps: [{ event: 'a' }, { event: 'b' }], ...range };
const retention = { start: { event: 'a' }, return: { event: 'b' }, ...range };
const paths = { start: { event: 'a' }, ...range };
const trends = { series: [{ event: 'a' }], ...range };

describe('the people behind a number', () => {
  it.each([
    [
      { funnel, step: 1 },
      { kind: 'funnel', step: 1, isLost: false },
    ],
    [
      { funnel, step: 2, lost: true },
      { kind: 'funnel', step: 2, isLost: true },
    ],
    [
      { retention, cohort: 0 },
      { kind: 'retention', cohort: 0, period: undefined },
    ],
    [
      { retention, cohort: 1, period: 3 },
      { kind: 'retention', cohort: 1, period: 3 },
    ],
    [
      { paths, path: ['b', 'c'], end: true },
      { kind: 'paths', path: ['b', 'c'], isEnd: true },
    ],
    [
      { trends, series: 0, period: 1 },
      { kind: 'trends', series: 0, period: 1 },
    ],
  ])('are named by a report and a place in its answer: %j', (body, request) => {
    expect(parsePeople(body)).toMatchObject({ ok: true, request });
  });

  it.each([
    ['nothing', undefined],
    ['no report', {}],
    ['no step', { funnel }],
    ['a step that the funnel lacks', { funnel, step: 3 }],
    ['those lost before the first step', { funnel, step: 1, lost: true }],
    ['a cohort that is no number', { retention, cohort: 'x' }],
    ['a period that is not followed', { retention, cohort: 0, period: 30 }],
    ['a series that the report lacks', { trends, series: 1 }],
    ['no path', { paths }],
    ['a path that is longer than the report follows', { paths, path: Array(99).fill('b') }],
    ['a period that the range lacks', { trends, series: 0, period: 2 }],
    ['a report that is refused itself', { funnel: { steps: [] }, step: 1 }],
  ])('are refused with %s', (_, body) => {
    expect(parsePeople(body).ok).toBe(false);
  });
});

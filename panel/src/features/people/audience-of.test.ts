import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { audienceOf } from './audience-of.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-23T12:00:00Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

const funnel = {
  steps: [
    { event: 'viewed', filters: [{ property: 'category', op: 'eq', value: 'x' }] },
    { event: 'added' },
    { event: 'ordered' },
  ],
  from: '2026-11-13',
  to: '2026-11-24',
};

it('those whom a funnel lost did every step before, and not the step', () => {
  expect(audienceOf({ funnel, step: 3, lost: true })).toEqual({
    all: [
      {
        ...{ event: 'viewed', did: true, within_days: 11 },
        where: [{ property: 'category', op: 'eq', value: 'x' }],
      },
      { event: 'added', did: true, within_days: 11 },
      { event: 'ordered', did: false, within_days: 11 },
    ],
  });
});

it('those who reached a step did every step up to it', () => {
  expect(audienceOf({ funnel, step: 2 })).toMatchObject({
    all: [{ event: 'viewed' }, { event: 'added', did: true }],
  });
});

it('a number of another report begins no segment', () => {
  expect(audienceOf({ retention: {}, cohort: 1 })).toBeUndefined();
});

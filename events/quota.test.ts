import { describe, expect, it } from 'vitest';
import { decideQuota, QUOTA_SENTENCES } from './quota.ts';

describe('the quota verdict', () => {
  it.each([
    ['active', 0, 1e9, 'open'],
    ['trial', 0, 0, 'open'],
    ['trial_ended', 0, 0, 'quota_trial_over'],
    ['cancelled', 5, 9, 'quota_cancelled'],
    ['active', 5, 4, 'open'],
    ['active', 5, 5, 'quota_event_cap'],
    ['active', 5, undefined, 'open'],
  ] as const)(
    'of a plan that is %s, limited to %i, with %s events, is %s',
    (subscription, maxEvents, eventsThisMonth, expected) =>
      expect(decideQuota({ subscription, maxEvents, eventsThisMonth })).toBe(expected),
  );
});

it('the sentences of a refusal are Persian and contain no usage numbers', () => {
  for (const sentence of Object.values(QUOTA_SENTENCES)) {
    expect(sentence).toMatch(/^[\u0600-\u06ff\u200c .]+$/);
    expect(sentence).not.toMatch(/[0-9۰-۹]/);
  }
});

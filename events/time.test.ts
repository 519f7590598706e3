import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decideBackfillTime,
  decideTime,
  FOREVER_WINDOW_MS,
  ingestWindow,
  MIN_WINDOW_MS,
} from './time.ts';

const NOW = Date.UTC(2026, 10, 21, 10);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WINDOW = 30 * DAY;
const EDGE = NOW - WINDOW;

describe('decideTime (ingest 2.4 rules 1 to 3)', () => {
  test.each<[string, number | undefined, number | undefined, number, string | undefined]>([
    ['no timestamp: receive time', undefined, undefined, NOW, undefined],
    ['no timestamp: sent_at is ignored', undefined, NOW - HOUR, NOW, undefined],
    ['as sent', NOW - 5 * MINUTE, undefined, NOW - 5 * MINUTE, undefined],
    ['an hour ahead is accepted', NOW + HOUR, undefined, NOW + HOUR, undefined],
    ['more than an hour ahead', NOW + HOUR + 1, undefined, NOW, 'timestamp_in_future'],
    [
      'more than an hour ahead, skew is not corrected',
      NOW + 2 * HOUR,
      NOW + 2 * HOUR,
      NOW,
      'timestamp_in_future',
    ],
    ['the edge of the window is accepted', EDGE, undefined, EDGE, undefined],
    ['older than the window', EDGE - 1, undefined, EDGE, 'timestamp_too_old'],
    [
      'older than the window, skew is not corrected',
      EDGE - DAY,
      NOW - DAY,
      EDGE,
      'timestamp_too_old',
    ],
    ['a minute of skew is none', NOW - HOUR, NOW - MINUTE, NOW - HOUR, undefined],
    ['a minute of skew ahead is none', NOW - HOUR, NOW + MINUTE, NOW - HOUR, undefined],
    [
      'clock behind: the whole difference is added',
      NOW - HOUR,
      NOW - MINUTE - 1,
      NOW - HOUR + MINUTE + 1,
      undefined,
    ],
    ['clock a day behind', NOW - DAY - 10 * SECOND, NOW - DAY, NOW - 10 * SECOND, undefined],
    ['clock half an hour ahead', NOW + 29 * MINUTE, NOW + 30 * MINUTE, NOW - MINUTE, undefined],
    ['corrected before the window: as sent', EDGE + MINUTE, NOW + HOUR, EDGE + MINUTE, undefined],
    ['corrected to the edge is used', EDGE + HOUR, NOW + HOUR, EDGE, undefined],
    ['corrected too far ahead: as sent', NOW, NOW - 2 * HOUR, NOW, undefined],
    ['corrected an hour ahead is used', NOW, NOW - HOUR, NOW + HOUR, undefined],
  ])('returns the time of the rule: %s', (_, timestamp, sentAt, expected, warning) => {
    expect(decideTime({ timestamp, sentAt, now: NOW, windowMs: WINDOW })).toEqual({
      timestamp: expected,
      warning,
    });
  });

  test('always returns a time within the window', () => {
    const time = fc.option(fc.integer({ min: NOW - 400 * DAY, max: NOW + 40 * DAY }), {
      nil: undefined,
    });
    fc.assert(
      fc.property(time, time, (timestamp, sentAt) => {
        const decided = decideTime({ timestamp, sentAt, now: NOW, windowMs: WINDOW });
        expect(decided.timestamp).toBeGreaterThanOrEqual(EDGE);
        expect(decided.timestamp).toBeLessThanOrEqual(NOW + HOUR);
      }),
    );
  });
});

describe('decideBackfillTime (ingest 2.4 rule 4)', () => {
  test.each<[string, number | undefined, number | undefined, number | undefined]>([
    ['missing: rejected', undefined, undefined, undefined],
    ['before the window: rejected', EDGE - 1, undefined, undefined],
    ['too far ahead: rejected', NOW + HOUR + 1, undefined, undefined],
    ['inside', EDGE, undefined, EDGE],
    ['inside, with skew', NOW - HOUR, NOW - 30 * MINUTE, NOW - 30 * MINUTE],
  ])('returns the time of the rule: %s', (_, timestamp, sentAt, expected) => {
    expect(decideBackfillTime({ timestamp, sentAt, now: NOW, windowMs: WINDOW })).toBe(expected);
  });
});

test.each<[number | undefined, number]>([
  [undefined, MIN_WINDOW_MS],
  [0, FOREVER_WINDOW_MS],
  [1, MIN_WINDOW_MS],
  [30, 30 * DAY],
  [400, 400 * DAY],
  [3650, 3650 * DAY],
])('a retention of %j days has an ingest window of %d ms', (days, windowMs) => {
  expect(ingestWindow(days)).toBe(windowMs);
});

import { describe, expect, it, test } from 'vitest';
import { readRecurrence } from './read-recurrence.ts';

const NOW = Date.UTC(2026, 10, 23, 6, 0);
const SENT = { rule: 'FREQ=DAILY', starts_at: '2026-12-01T09:00:00+03:30' };
const read = (change: object = {}) => readRecurrence({ ...SENT, ...change }, NOW);
const times = (change: object = {}) => {
  const outcome = read(change);
  return outcome.ok ? outcome.next.map((at) => new Date(at).toISOString()) : outcome.message;
};

describe('a recurrence', () => {
  it('begins with the first instance at or after its start, in Tehran unless it says otherwise', () => {
    expect(read()).toMatchObject({ ok: true, recurrence: { ...SENT, time_zone: 'Asia/Tehran' } });
    const three = ['2026-12-01T05:30:00.000Z', '2026-12-02T05:30:00.000Z'];
    expect(times()).toEqual([...three, '2026-12-03T05:30:00.000Z']);
    expect(times({ rule: 'FREQ=DAILY;BYHOUR=9;BYMINUTE=0', time_zone: 'Europe/Berlin' })).toEqual([
      ...['2026-12-01T08:00:00.000Z', '2026-12-02T08:00:00.000Z', '2026-12-03T08:00:00.000Z'],
    ]);
  });

  it('of the 31st is on the last day of a shorter month of the Persian calendar', () => {
    // 31 Shahrivar 1406 is followed by 30 Mehr and 30 Aban
    const rule = 'RSCALE=PERSIAN;FREQ=MONTHLY;BYMONTHDAY=31';
    expect(times({ rule, starts_at: '2027-09-22T09:00:00+03:30' })).toEqual([
      ...['2027-09-22T05:30:00.000Z', '2027-10-22T05:30:00.000Z', '2027-11-21T05:30:00.000Z'],
    ]);
  });

  it('that started long ago goes on after now, one that just started begins at once', () => {
    expect(times({ starts_at: '2026-11-01T09:00:00+03:30' })).toMatchObject([
      ...['2026-11-24T05:30:00.000Z', '2026-11-25T05:30:00.000Z', '2026-11-26T05:30:00.000Z'],
    ]);
    expect(times({ starts_at: '2026-11-23T05:10:00Z' })).toContain('2026-11-23T05:10:00.000Z');
  });

  it('may have fewer than three instances', () => {
    expect(times({ rule: 'FREQ=DAILY;COUNT=1' })).toEqual(['2026-12-01T05:30:00.000Z']);
  });

  it('is stored so that every reader can parse its start', () => {
    expect(read({ starts_at: '2026-12-31T23:59:60Z' })).toMatchObject({
      recurrence: { starts_at: '2027-01-01T00:00:00.000Z' },
    });
  });

  test.each<[object, string]>([
    [{ rule: undefined }, 'rule is required'],
    [{ rule: 5 }, 'rule is required'],
    [{ rule: 'FREQ=SOMETIMES' }, 'rule: '],
    [{ rule: 'FREQ=DAILY;COUNT=1', starts_at: '2026-11-01T00:00:00Z' }, 'instances are over'],
    [{ rule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' }, 'instances are over'],
    [{ starts_at: undefined }, 'starts_at is not an RFC 3339 time'],
    [{ starts_at: '2026-12-01' }, 'starts_at is not an RFC 3339 time'],
    [{ time_zone: 'Asia/Nowhere' }, 'time_zone is not a name'],
    [{ time_zone: 5 }, 'time_zone is not a name'],
  ])('with %o is invalid: %s', (change, message) => {
    const outcome = read(change);
    expect(outcome.ok).toBe(false);
    expect(outcome.ok ? '' : outcome.message).toContain(message);
  });
});

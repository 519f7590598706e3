import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRule } from './parse-rule.ts';

const CHARACTERS = Array.from('FREQ=DAILYBYMONTHDAY;,-+19UNTILSKIP:');

describe('a rule', () => {
  it('is read with its defaults', () =>
    expect(parseRule('FREQ=DAILY')).toEqual({
      ok: true,
      rule: {
        frequency: 'DAILY',
        interval: 1,
        count: undefined,
        until: undefined,
        calendar: 'GREGORIAN',
        skip: 'OMIT',
        weekStart: 1,
        byDay: [],
        byMonthDay: [],
        byMonth: [],
        byHour: [],
        byMinute: [],
      },
    }));

  it('is read in any case and order, with lists sorted and each value once', () =>
    expect(
      parseRule(
        'RRULE:BYDAY=2mo,-1FR,SA;byminute=30,0;bymonthday=-1,31,+1,1;freq=Monthly;rscale=persian',
      ),
    ).toMatchObject({
      ok: true,
      rule: {
        frequency: 'MONTHLY',
        calendar: 'PERSIAN',
        skip: 'BACKWARD',
        byDay: [
          { weekday: 1, ordinal: 2 },
          { weekday: 5, ordinal: -1 },
          { weekday: 6, ordinal: 0 },
        ],
        byMonthDay: [-1, 1, 31],
        byMinute: [0, 30],
      },
    }));

  it.each([
    ['', /NAME=VALUE/],
    ['FREQ', /NAME=VALUE/],
    ['FREQ=', /NAME=VALUE/],
    ['FREQ=DAILY;', /NAME=VALUE/],
    ['FREQ=DAILY=2', /NAME=VALUE/],
    ['every day', /NAME=VALUE/],
    ['INTERVAL=2', /FREQ is missing/],
    ['FREQ=HOURLY', /FREQ=HOURLY is not supported: use DAILY, WEEKLY, MONTHLY, YEARLY/],
    ['FREQ=DAILY;FREQ=WEEKLY', /FREQ occurs twice/],
    ['FREQ=DAILY;EASTER=1', /EASTER is not a known part/],
    ['FREQ=DAILY;BYSECOND=1', /BYSECOND is not supported. Leave it out/],
    ['FREQ=YEARLY;BYYEARDAY=1', /Use BYMONTH with BYMONTHDAY/],
    ['FREQ=YEARLY;BYWEEKNO=1', /BYWEEKNO is not supported/],
    ['FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1', /Use an ordinal in BYDAY/],
    ['FREQ=DAILY;INTERVAL=0', /INTERVAL=0: give a whole number from 1 to 1000/],
    ['FREQ=DAILY;INTERVAL=1.5', /INTERVAL=1.5/],
    ['FREQ=DAILY;INTERVAL=1001', /from 1 to 1000/],
    ['FREQ=DAILY;COUNT=-1', /COUNT=-1/],
    ['FREQ=DAILY;COUNT=10001', /from 1 to 10000/],
    ['FREQ=DAILY;COUNT=2;UNTIL=20270101', /remove one of them/],
    ['FREQ=DAILY;UNTIL=20270231', /UNTIL=20270231 is not a date/],
    ['FREQ=DAILY;UNTIL=2027-01-01', /write 20261231/],
    ['FREQ=DAILY;UNTIL=20270101T250000', /is not a date/],
    ['RSCALE=PERSIAN;FREQ=DAILY;UNTIL=14051229', /UNTIL is a Gregorian date/],
    ['RSCALE=HEBREW;FREQ=DAILY', /RSCALE=HEBREW is not supported: use GREGORIAN, PERSIAN/],
    ['FREQ=MONTHLY;SKIP=BACKWARD', /SKIP needs RSCALE/],
    ['RSCALE=PERSIAN;FREQ=MONTHLY;SKIP=YES', /use OMIT, BACKWARD, FORWARD/],
    ['FREQ=WEEKLY;WKST=XX', /WKST=XX/],
    ['FREQ=WEEKLY;BYMONTHDAY=1', /BYMONTHDAY cannot be used with FREQ=WEEKLY/],
    ['FREQ=MONTHLY;BYMONTHDAY=0', /BYMONTHDAY: "0"/],
    ['FREQ=MONTHLY;BYMONTHDAY=32', /from 1 to 31, or from -1/],
    ['FREQ=MONTHLY;BYMONTHDAY=1,,2', /BYMONTHDAY: ""/],
    ['FREQ=YEARLY;BYMONTH=13', /from 1 to 12/],
    ['FREQ=YEARLY;BYMONTH=-1', /BYMONTH: "-1"/],
    ['FREQ=YEARLY;BYMONTH=5L', /BYMONTH: "5L"/],
    ['FREQ=DAILY;BYHOUR=24', /from 0 to 23/],
    ['FREQ=DAILY;BYMINUTE=60', /from 0 to 59/],
    ['FREQ=WEEKLY;BYDAY=XX', /BYDAY: "XX" cannot be read/],
    ['FREQ=MONTHLY;BYDAY=0FR', /BYDAY: "0FR"/],
    ['FREQ=YEARLY;BYDAY=54FR', /BYDAY: "54FR"/],
    ['FREQ=WEEKLY;BYDAY=2FR', /needs FREQ=MONTHLY or FREQ=YEARLY/],
    ['FREQ=MONTHLY;BYDAY=6FR', /a month has no weekday number 6/],
    ['FREQ=YEARLY;BYMONTH=2;BYDAY=-6FR', /a month has no weekday number 6/],
  ])('"%s" is refused, and the message says what to do', (text, message) => {
    const parsed = parseRule(text);
    expect(parsed.ok ? 'accepted' : parsed.message).toMatch(message);
  });

  it('of more than 1000 characters is refused', () =>
    expect(parseRule(`FREQ=DAILY;BYHOUR=${'1,'.repeat(600)}1`)).toMatchObject({ ok: false }));

  it('any text is read or refused, never a crash', () =>
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...CHARACTERS) })),
        (text) => typeof parseRule(text).ok === 'boolean',
      ),
      { numRuns: 1000 },
    ));
});

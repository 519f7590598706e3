import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { instances, type InstancesOptions } from './instances.ts';
import { isTimeZone } from './local-clock.ts';
import { parseRule } from './parse-rule.ts';
import type { Rule } from './rule.ts';
import { daysOfModel } from './testing/day-by-day.ts';
import libicalAnswers from './testing/libical-answers.json' with { type: 'json' };
import { randomRule } from './testing/random-rule.ts';

const DAY = 86_400_000;

function ruleOf(text: string): Rule {
  const parsed = parseRule(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.message}`);
  return parsed.rule;
}

function takeFrom(found: Iterable<number>, count: number): number[] {
  const first: number[] = [];
  for (const at of found) if (first.push(at) >= count) break;
  return first;
}

function firstOf(text: string, options: InstancesOptions & { take?: number }): string[] {
  const { take = 5, ...rest } = options;
  return takeFrom(instances(ruleOf(text), rest), take).map((at) =>
    new Date(at).toISOString().replace(':00.000Z', 'Z'),
  );
}

const TEHRAN = new Intl.DateTimeFormat('en-u-ca-persian-nu-latn', {
  timeZone: 'Asia/Tehran',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
});

function jalaliOf(text: string, startsAt: string, take: number): string[] {
  const found = instances(ruleOf(text), { startsAt: Date.parse(startsAt) });
  return takeFrom(found, take).map((at) => {
    const part = new Map(TEHRAN.formatToParts(at).map(({ type, value }) => [type, value]));
    return `${part.get('year') ?? ''}-${part.get('month') ?? ''}-${part.get('day') ?? ''}`;
  });
}

describe('months are added to the first instance, never to the last one', () => {
  // 31 Shahrivar 1405, 09:00 in Tehran.
  const start = '2026-09-22T05:30:00Z';

  it('SKIP=BACKWARD is the default with RSCALE: the 31st is the last day of a shorter month', () =>
    expect(jalaliOf('RSCALE=PERSIAN;FREQ=MONTHLY', start, 8)).toEqual([
      '1405-06-31',
      '1405-07-30',
      '1405-08-30',
      '1405-09-30',
      '1405-10-30',
      '1405-11-30',
      '1405-12-29',
      '1406-01-31',
    ]));

  it('SKIP=OMIT leaves shorter months out', () =>
    expect(jalaliOf('RSCALE=PERSIAN;SKIP=OMIT;FREQ=MONTHLY', start, 3)).toEqual([
      '1405-06-31',
      '1406-01-31',
      '1406-02-31',
    ]));

  it('SKIP=FORWARD takes the first day of the next month, once', () =>
    expect(jalaliOf('RSCALE=PERSIAN;SKIP=FORWARD;FREQ=MONTHLY;BYMONTHDAY=1,31', start, 5)).toEqual([
      '1405-06-31',
      '1405-07-01',
      '1405-08-01',
      '1405-09-01',
      '1405-10-01',
    ]));

  it('30 Esfand is 29 Esfand in a common year, and 30 Esfand again in a leap year', () =>
    expect(jalaliOf('RSCALE=PERSIAN;FREQ=YEARLY', '2025-03-20T06:30:00Z', 5)).toEqual([
      '1403-12-30',
      '1404-12-29',
      '1405-12-29',
      '1406-12-29',
      '1407-12-29',
    ]));

  it('without RSCALE, the rule is Gregorian and omits days that do not exist', () =>
    expect(
      firstOf('FREQ=MONTHLY', { startsAt: Date.parse('2026-01-31T05:30:00Z'), take: 3 }),
    ).toEqual(['2026-01-31T05:30Z', '2026-03-31T05:30Z', '2026-05-31T05:30Z']));
});

describe('the start', () => {
  it('is an instance only when it matches the rule', () =>
    expect(
      firstOf('FREQ=WEEKLY;BYDAY=SA', { startsAt: Date.parse('2026-11-23T05:30:00Z'), take: 2 }),
    ).toEqual(['2026-11-28T05:30Z', '2026-12-05T05:30Z']));

  it('gives the hour, the minute and the second that the rule does not name', () =>
    expect(
      firstOf('FREQ=DAILY;BYHOUR=8,20', { startsAt: Date.parse('2026-11-23T05:42:07Z'), take: 3 }),
    ).toEqual([
      '2026-11-23T16:42:07.000Z',
      '2026-11-24T04:42:07.000Z',
      '2026-11-24T16:42:07.000Z',
    ]));

  it('gives the first week: WKST decides which days are in it', () => {
    // The example of RFC 5545, 3.3.10: 5 August 1997 is a Tuesday.
    const startsAt = Date.parse('1997-08-05T09:00:00Z');
    const days = (week: string) =>
      firstOf(`FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=${week}`, {
        startsAt,
        timeZone: 'UTC',
      }).map((at) => at.slice(5, 10));
    expect(days('MO')).toEqual(['08-05', '08-10', '08-19', '08-24']);
    expect(days('SU')).toEqual(['08-05', '08-17', '08-19', '08-31']);
  });
});

describe('the end', () => {
  const startsAt = Date.parse('2026-11-23T05:30:00Z');

  it('COUNT counts from the start, whatever `after` is', () => {
    expect(firstOf('FREQ=DAILY;COUNT=3', { startsAt })).toHaveLength(3);
    expect(firstOf('FREQ=DAILY;COUNT=3', { startsAt, after: startsAt + DAY })).toEqual([
      '2026-11-25T05:30Z',
    ]);
    expect(firstOf('FREQ=DAILY;COUNT=3', { startsAt, after: startsAt + 2 * DAY })).toEqual([]);
  });

  it.each([
    // 09:00 in Tehran is 05:30 UTC.
    ['20261125', 3],
    ['20261125T090000', 3],
    ['20261125T085959', 2],
    ['20261125T053000Z', 3],
    ['20261125T052959Z', 2],
    ['20261122', 0],
  ])('UNTIL=%s includes its last moment: %i instances', (until, expected) =>
    expect(firstOf(`FREQ=DAILY;UNTIL=${until}`, { startsAt })).toHaveLength(expected),
  );

  it.each([
    'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31',
    'FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30,31,-30,-31',
    'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31',
    'RSCALE=PERSIAN;SKIP=OMIT;FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=31',
    'FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=2FR',
    'FREQ=YEARLY;INTERVAL=200;BYMONTH=2;BYMONTHDAY=29;BYDAY=2MO',
  ])('comes after 100 years without an instance: %s', (text) =>
    expect(firstOf(text, { startsAt })).toEqual([]),
  );

  it('comes with the year 9999', () => {
    const last = [...instances(ruleOf('FREQ=YEARLY;INTERVAL=90'), { startsAt })].at(-1) ?? 0;
    expect(new Date(last).getUTCFullYear()).toBe(9946);
  });
});

describe('time zones', () => {
  it('Tehran is 3.5 hours before UTC, and was 4.5 hours before it in the summers until 1401', () =>
    expect(
      firstOf('FREQ=MONTHLY;INTERVAL=6', { startsAt: Date.parse('2022-01-10T05:30:00Z'), take: 3 }),
    ).toEqual(['2022-01-10T05:30Z', '2022-07-10T04:30Z', '2023-01-10T05:30Z']));

  it('a time that clocks skip is moved by the gap, and is one instance beside the later time', () =>
    expect(
      firstOf('FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=30', {
        startsAt: Date.parse('2026-03-28T20:00:00Z'),
        timeZone: 'Europe/Berlin',
      }),
    ).toEqual([
      '2026-03-29T00:30Z',
      '2026-03-29T01:30Z',
      '2026-03-29T23:30Z',
      '2026-03-30T00:30Z',
      '2026-03-30T01:30Z',
    ]));

  it('of a time that comes twice the first one is meant', () =>
    expect(
      firstOf('FREQ=DAILY', {
        startsAt: Date.parse('2026-10-24T00:30:00Z'),
        timeZone: 'Europe/Berlin',
        take: 3,
      }),
    ).toEqual(['2026-10-24T00:30Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z']));

  it('a day that a zone left out is no instance of its own', () =>
    expect(
      firstOf('FREQ=DAILY', {
        startsAt: Date.parse('2011-12-29T19:00:00Z'),
        timeZone: 'Pacific/Apia',
        take: 3,
      }),
    ).toEqual(['2011-12-29T19:00Z', '2011-12-30T19:00Z', '2011-12-31T19:00Z']));

  it('are known by name', () => {
    expect(['Asia/Tehran', 'UTC', '+03:30'].map(isTimeZone)).toEqual([true, true, true]);
    expect(['Asia/Tehrun', '', 'x'.repeat(1000)].map(isTimeZone)).toEqual([false, false, false]);
    expect(() => instances(ruleOf('FREQ=DAILY'), { startsAt: 0, timeZone: 'Mars' }).next()).toThrow(
      RangeError,
    );
  });
});

describe('other implementations agree', () => {
  it('libical with ICU answers the same to 400 random rules', () => {
    for (const { rule, start, instances: expected } of libicalAnswers) {
      const [, date = '', time = ''] = /^(\d{8})T(\d{6})$/.exec(start) ?? [];
      const startsAt = Date.parse(
        `${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`,
      );
      const found = takeFrom(instances(ruleOf(rule), { startsAt, timeZone: 'UTC' }), 12)
        .map((at) => new Date(at).toISOString().replace(/[-:]|\.000Z/g, ''))
        .filter((text) => text < '2124')
        .join(' ');
      expect({ rule, start, found }).toEqual({ rule, start, found: expected });
    }
  });

  it('a model that asks of each day whether it belongs to the rule finds the same days', () => {
    const startDay = fc.integer({ min: 18_000, max: 21_000 });
    fc.assert(
      fc.property(randomRule, startDay, (text, start) => {
        const days = 1500;
        const rule = ruleOf(text);
        const found = instances(rule, { startsAt: start * DAY, timeZone: 'UTC' });
        const first: number[] = [];
        for (const at of found) {
          if (at >= (start + days) * DAY) break;
          first.push(at / DAY);
        }
        expect(first).toEqual([...daysOfModel(rule, { startDay: start, days })]);
      }),
      { numRuns: 400 },
    );
  });

  it('the instances after a time are the rest of all instances', () => {
    const rule = fc.tuple(randomRule, fc.constantFrom('', ';COUNT=20', ';UNTIL=20300101'));
    fc.assert(
      fc.property(rule, fc.nat(4000), fc.nat(20), ([parts, end], later, pick) => {
        const startsAt = Date.parse('2026-01-31T20:30:00Z');
        const of = (after?: number) =>
          instances(ruleOf(parts + end), { startsAt, ...(after === undefined ? {} : { after }) });
        const all = takeFrom(of(), 60);
        for (const after of [startsAt + later * DAY, all[pick] ?? 0]) {
          const rest = all.filter((at) => at > after);
          expect(takeFrom(of(after), rest.length + 1).slice(0, rest.length)).toEqual(rest);
        }
      }),
      { numRuns: 300 },
    );
  });
});

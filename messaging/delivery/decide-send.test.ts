import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATEGORIES, type Category } from '../templates/template.ts';
import { decideSend, type SendDecision } from './decide-send.ts';
import { endOfQuietHours } from './quiet-hours.ts';

const HOUR = 3_600_000;
/** 12:00 in Tehran. */
const NOON = Date.parse('2026-11-23T08:30:00Z');

type Recipient = Parameters<typeof decideSend>[0];
type Settings = Parameters<typeof decideSend>[1]['settings'];

const known: Recipient = {
  targets: [{ kind: 'email', address: 'sara@example.ir' }],
  ...{ suppressed: false, consent: undefined, optedOut: false, optedIn: false },
};
const allow: Settings = { consentDefault: 'allow', quietHours: undefined };
const deny: Settings = { consentDefault: 'deny', quietHours: undefined };

interface Given {
  category?: Category;
  settings?: Settings;
  now?: number;
}

const decide = (recipient: Partial<Recipient>, given: Given = {}) =>
  decideSend(
    { ...known, ...recipient },
    { category: 'marketing', settings: allow, now: NOON, ...given },
  );
const short = (decision: SendDecision) =>
  decision.kind === 'skip' ? decision.reason : decision.kind;

describe('what becomes of a message', () => {
  it.each<[Partial<Recipient>, Settings, marketing: string, service: string]>([
    [{}, allow, 'send', 'send'],
    [{ targets: [] }, allow, 'no_address', 'no_address'],
    [{ suppressed: true }, allow, 'suppressed', 'suppressed'],
    [{ suppressed: true, consent: 'subscribed' }, allow, 'suppressed', 'suppressed'],
    [{ targets: [], suppressed: true }, allow, 'no_address', 'no_address'],
    [{ consent: 'subscribed' }, allow, 'send', 'send'],
    [{ consent: 'unsubscribed' }, allow, 'unsubscribed', 'send'],
    [{ consent: 'unsubscribed', optedOut: true }, allow, 'unsubscribed', 'send'],
    [{ consent: 'unsubscribed', optedIn: true }, allow, 'unsubscribed', 'send'],
    [{ optedOut: true }, allow, 'opted_out', 'send'],
    [{ optedOut: true, consent: 'subscribed' }, allow, 'opted_out', 'send'],
    [{}, deny, 'no_consent', 'send'],
    [{ consent: 'subscribed' }, deny, 'send', 'send'],
    [{ optedIn: true }, deny, 'send', 'send'],
    [{ consent: 'unsubscribed' }, deny, 'unsubscribed', 'send'],
    [{ optedOut: true }, deny, 'opted_out', 'send'],
    [{ suppressed: true }, deny, 'suppressed', 'suppressed'],
  ])('to %o with %o is %s as marketing, and %s as service or transactional', (...row) => {
    const [recipient, settings, marketing, service] = row;
    const decided = CATEGORIES.map((category) => [
      category,
      short(decide(recipient, { category, settings })),
    ]);
    expect(decided).toEqual([
      ['transactional', service],
      ['service', service],
      ['marketing', marketing],
    ]);
  });

  it('waits for the end of the quiet hours when it is marketing that may be sent at all', () => {
    const settings = { ...allow, quietHours: { from: 11 * 60, to: 13 * 60 } };
    expect(decide({}, { settings })).toEqual({ kind: 'wait', until: NOON + HOUR });
    expect(short(decide({ consent: 'unsubscribed' }, { settings }))).toBe('unsubscribed');
    expect(short(decide({}, { settings, category: 'transactional' }))).toBe('send');
    expect(short(decide({}, { settings, category: 'service' }))).toBe('send');
    expect(short(decide({}, { settings, now: NOON + HOUR }))).toBe('send');
  });
});

describe('quiet hours in Tehran', () => {
  const at = (time: string) => Date.parse(`2026-11-23T${time}:00+03:30`);
  const night = { from: 22 * 60, to: 8 * 60 };

  it.each([
    ['21:59', undefined],
    ['22:00', '2026-11-24T08:00:00+03:30'],
    ['23:59', '2026-11-24T08:00:00+03:30'],
    ['00:00', '2026-11-23T08:00:00+03:30'],
    ['07:59', '2026-11-23T08:00:00+03:30'],
    ['08:00', undefined],
  ])('from 22:00 to 08:00 contain %s until %s', (time, end) => {
    expect(endOfQuietHours(night, at(time))).toBe(end && Date.parse(end));
  });

  it('end at a time that is not quiet, less than a day later, whatever they are', () => {
    const minute = fc.integer({ min: 0, max: 1439 });
    fc.assert(
      fc.property(minute, minute, fc.integer({ min: 1.68e12, max: 4e12 }), (from, to, now) => {
        fc.pre(from !== to);
        const end = endOfQuietHours({ from, to }, now);
        if (end === undefined) return;
        expect(end).toBeGreaterThan(now);
        expect(end - now).toBeLessThanOrEqual(24 * HOUR);
        expect(endOfQuietHours({ from, to }, end)).toBeUndefined();
      }),
    );
  });
});

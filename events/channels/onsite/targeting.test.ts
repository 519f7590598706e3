import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { UrlCondition } from './definition.ts';
import { isDueAgain, isTargeted, SESSION_MS } from './targeting.ts';
import { visitorHash, visitorText } from './visitor.ts';

const everywhere = { url: [], audience: undefined, startsAt: -Infinity, endsAt: Infinity };
const visit = { url: 'https://shop.ir/سبد?a=1', now: 1000, isMember: () => false };

const onPage = (url: UrlCondition[], page = visit.url) =>
  isTargeted({ ...everywhere, url }, { ...visit, url: page });

describe('a campaign without targeting', () => {
  it('is for everybody on every page, also where no page is named', () => {
    expect(isTargeted(everywhere, visit)).toBe(true);
    expect(isTargeted(everywhere, { ...visit, url: '' })).toBe(true);
  });
});

describe('conditions on the address of the page', () => {
  it.each<[UrlCondition, boolean]>([
    [{ op: 'contains', value: '/سبد' }, true],
    [{ op: 'contains', value: '/%D8%B3' }, false],
    [{ op: 'contains', value: '/CART' }, false],
    [{ op: 'contains', value: '.*' }, false],
    [{ op: 'prefix', value: 'https://shop.ir/' }, true],
    [{ op: 'prefix', value: 'shop.ir' }, false],
    [{ op: 'equals', value: 'https://shop.ir/سبد' }, false],
    [{ op: 'equals', value: 'https://shop.ir/سبد?a=1' }, true],
  ])('compare literally: %j', (condition, matches) => {
    expect(onPage([condition])).toBe(matches);
  });

  it('need only one of them to hold', () => {
    const [hit, miss] = ['shop', 'other'].map((value) => ({ op: 'contains' as const, value }));
    expect(onPage([miss, hit] as UrlCondition[])).toBe(true);
    expect(onPage([miss, miss] as UrlCondition[])).toBe(false);
  });

  it('do not hold where no page is named', () => {
    expect(onPage([{ op: 'contains', value: 'a' }], '')).toBe(false);
  });
});

describe('the times of a campaign', () => {
  it.each([
    [{ startsAt: 1001 }, false],
    [{ startsAt: 1000 }, true],
    [{ endsAt: 1001 }, true],
    [{ endsAt: 1000 }, false],
  ])('begin with its start and end before its end: %j', (times, isLive) => {
    expect(isTargeted({ ...everywhere, ...times }, visit)).toBe(isLive);
  });
});

describe('the audience of a campaign', () => {
  it('must have the visitor', () => {
    const campaign = { ...everywhere, audience: 'a' };
    expect(isTargeted(campaign, visit)).toBe(false);
    expect(isTargeted(campaign, { ...visit, isMember: (name: string) => name === 'a' })).toBe(true);
  });
});

describe('the frequency of a campaign', () => {
  const shown = { shownAt: 5000, now: 5000 + SESSION_MS - 1 };
  it('shows it again always, in the next session, or never', () => {
    expect(isDueAgain('always', shown)).toBe(true);
    expect(isDueAgain('session', shown)).toBe(false);
    expect(isDueAgain('once', shown)).toBe(false);
    const later = { ...shown, now: 5000 + SESSION_MS };
    expect(isDueAgain('session', later)).toBe(true);
    expect(isDueAgain('once', later)).toBe(false);
  });

  it('shows it to everybody who has not seen it', () => {
    for (const frequency of ['once', 'session', 'always'] as const)
      expect(isDueAgain(frequency, { shownAt: undefined, now: 0 })).toBe(true);
  });
});

it('the hash of a visitor depends on the account', () => {
  const expected = createHash('sha256').update('7\0کاربر').digest('hex').slice(0, 16);
  expect(visitorText(visitorHash(7, 'کاربر'))).toBe(expected);
  expect(visitorText(visitorHash(8, 'کاربر'))).not.toBe(expected);
  expect(visitorText({ high: 1, low: 0 })).toBe('0000000100000000');
});

import { describe, expect, it } from 'vitest';
import { deliveryTime } from './times.ts';

describe('deliveryTime', () => {
  it.each([
    ['2026-03-21T10:00:00Z', '2026-03-21T10:00:00.000Z'],
    ['2026-03-21T10:00:00.25-04:00', '2026-03-21T14:00:00.250Z'],
    ['2026-03-21T10:00:00', '2026-03-21T06:30:00.000Z'],
    ['2026-03-21 10:00:00', '2026-03-21T06:30:00.000Z'],
    ['2026-03-21', '2026-03-20T20:30:00.000Z'],
    [' 2026-03-21 ', '2026-03-20T20:30:00.000Z'],
    // Daylight time, until 1401
    ['2022-07-01 10:00:00', '2022-07-01T05:30:00.000Z'],
    ['2022-09-22 10:00:00', '2022-09-22T06:30:00.000Z'],
  ])('reads %s as %s', (text, time) => expect(deliveryTime(text)).toBe(time));

  it.each([
    '',
    'yesterday',
    '2026-02-30',
    '2026-03-21T10:00',
    '2026-03-21T10:00:00.5',
    '21/03/2026',
    '1790000000',
    '0000-01-01T00:00:00+23:59',
    '2026-03-21T25:00:00',
  ])('returns nothing for %j', (text) => expect(deliveryTime(text)).toBeUndefined());

  it('returns the first readable time', () =>
    expect(deliveryTime('', 'x', '2026-03-21T10:00:00Z')).toBe('2026-03-21T10:00:00.000Z'));
});

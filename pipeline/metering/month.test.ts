import { expect, it } from 'vitest';
import { monthNameOf, monthOf } from './month.ts';

it('a Jalali month begins and ends at midnight in Tehran', () => {
  const month = monthOf(Date.parse('2026-11-21T12:00:00Z'));
  expect(month).toEqual({ name: '1405-08', start: Date.parse('2026-10-22T20:30:00Z'), end: Date.parse('2026-11-21T20:30:00Z') });
  expect(monthNameOf(month.end - 1)).toBe('1405-08');
  expect(monthNameOf(month.end)).toBe('1405-09');
});

it('Esfand ends with Nowruz', () => {
  const month = monthOf(Date.parse('2026-03-20T12:00:00Z'));
  expect(month).toEqual({ name: '1404-12', start: Date.parse('2026-02-19T20:30:00Z'), end: Date.parse('2026-03-20T20:30:00Z') });
});

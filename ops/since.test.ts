import { describe, expect, it } from 'vitest';
import { sinceOption } from './since.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const hour = 3_600_000;

describe('--since', () => {
  it.each([
    [undefined, '2026-11-21T12:00:00Z'],
    ['36h', '2026-11-21T00:00:00Z'],
    ['7d', '2026-11-15T12:00:00Z'],
    ['2026-11-20', '2026-11-20T00:00:00Z'],
    ['2026-11-20T08:00:00+03:30', '2026-11-20T04:30:00Z'],
  ])('reads %s', (text, expected) => {
    expect(sinceOption(text, { now, age: 24 * hour })).toBe(Date.parse(expected));
  });

  it('refuses what is neither a time nor an age', () => {
    expect(() => sinceOption('yesterday', { now, age: hour })).toThrow('--since yesterday');
  });
});

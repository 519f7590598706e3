import { expect, it } from 'vitest';
import { dayOfText } from '../../shared/format/dates.ts';
import { instantOf } from './when.ts';

it('a day and a time are those of Tehran', () => {
  const text = instantOf({ day: dayOfText('2026-11-23'), time: '09:30' });
  expect(text).toBe('2026-11-23T09:30:00+03:30');
  expect(new Date(text ?? '').toISOString()).toBe('2026-11-23T06:00:00.000Z');
});

it('a time that is not complete is no instant', () => {
  expect(instantOf({ day: 20_000, time: '' })).toBeUndefined();
  expect(instantOf({ day: 20_000, time: '24:00' })).toBeUndefined();
});

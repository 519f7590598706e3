import { expect, it } from 'vitest';
import { numberOf, numbersOf, numericOptions } from './numbers.ts';

it('options are numbers', () => {
  expect(numberOf({ rate: '2000' }, 'rate')).toBe(2000);
  expect(numberOf({ seconds: '0.5' }, 'seconds')).toBe(0.5);
  expect(numbersOf({ items: '1,10,100' }, 'items')).toEqual([1, 10, 100]);
});

it('options that are not given have their defaults', () => {
  const defaults = { rate: 2000, 'pending-ttl': 30 };
  expect(numericOptions('x', defaults, ['--rate', '5'])).toEqual({ rate: 5, 'pending-ttl': 30 });
  expect(() => numericOptions('x', defaults, ['--rate', 'fast'])).toThrow('--rate fast: give');
  expect(() => numericOptions('x', defaults, ['5'])).toThrow(
    'usage: ./ravand bench x -- [--rate N] [--pending-ttl N]',
  );
});

it.each(['', 'fast', '-1', 'Infinity', '1,000'])('%j is no number', (rate) => {
  expect(() => numberOf({ rate }, 'rate')).toThrow(/^--rate .*: give a number/);
});

it('a list has no empty places', () => {
  expect(() => numbersOf({ items: '1,' }, 'items')).toThrow('--items : give a number');
});

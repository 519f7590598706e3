import { expect, it } from 'vitest';
import { balanceAdmission } from './balance-admission.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it('a balance of a client is recorded once a minute', () => {
  const admits = balanceAdmission();
  const times = [0, 1, MINUTE - 1, MINUTE, 2 * MINUTE - 1, 2 * MINUTE];
  expect(times.map((now) => admits(1, 'c', now))).toEqual([true, false, false, true, false, true]);
});

it('clients and accounts do not wait for each other', () => {
  const admits = balanceAdmission();
  expect([admits(1, 'a', 0), admits(1, 'b', 0), admits(2, 'a', 0)]).toEqual([true, true, true]);
});

it('an account that invents clients gets 2000 an hour, and takes none from others', () => {
  const admits = balanceAdmission();
  const admitted = (now: number) =>
    Array.from({ length: 5000 }, (_, at) => admits(1, `${now} ${at}`, now)).filter(Boolean).length;
  expect(admitted(0)).toBe(2000);
  expect(admitted(HOUR - 1)).toBe(0);
  expect(admits(2, 'a', HOUR - 1)).toBe(true);
  expect(admitted(HOUR)).toBe(2000);
});

it('a clock that was set back holds up nobody for longer than its step', () => {
  const admits = balanceAdmission();
  expect(admits(1, 'c', 10 * HOUR)).toBe(true);
  expect(admits(1, 'c', 0)).toBe(true);
});

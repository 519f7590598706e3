import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { OccupiedTimer } from './occupied-timer.ts';

let connections: number;
let checks: number;
let timer: OccupiedTimer;

beforeEach(() => {
  vi.useFakeTimers();
  [connections, checks] = [0, 0];
  timer = new OccupiedTimer({
    ...{ everyMs: 1000, isOccupied: () => connections > 0 },
    check: () => checks++,
  });
});
afterEach(() => vi.useRealTimers());

function connect(): void {
  connections++;
  timer.occupied();
}

it('Connections are checked when the first one comes, and every second while there are any', () => {
  connect();
  expect(checks).toBe(1);
  connect();
  vi.advanceTimersByTime(10_000);
  expect(checks).toBe(11);
});

it('A server without connections has no timer, and checks again when one comes', () => {
  expect(vi.getTimerCount()).toBe(0);
  connect();
  connections = 0;
  vi.advanceTimersByTime(1000);
  expect(vi.getTimerCount()).toBe(0);
  connect();
  vi.advanceTimersByTime(2000);
  expect(checks).toBe(4);
});

it('Nothing is checked any more after the end', () => {
  connect();
  timer.end();
  connect();
  vi.advanceTimersByTime(5000);
  expect(checks).toBe(1);
});

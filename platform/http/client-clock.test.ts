import { beforeEach, describe, expect, it } from 'vitest';
import { ClientClock } from './client-clock.ts';

let now: number;
let clock: ClientClock;

beforeEach(() => {
  now = 5000;
  clock = new ClientClock(() => now);
});

function pass(seconds: number): void {
  for (let second = 0; second < seconds; second++) {
    now += 1000;
    clock.check();
  }
}

describe('the clock of connections', () => {
  it('counts the time that passed', () => {
    const began = clock.now();
    pass(14);
    expect(clock.since(began)).toBe(14_000);
  });

  it('begins every period anew after a pause of the process', () => {
    const began = clock.now();
    pass(14);
    now += 60_000;
    clock.check();
    expect(clock.since(began)).toBe(0);
    pass(14);
    expect(clock.since(began)).toBe(14_000);
    expect(clock.since(clock.now())).toBe(0);
  });
});

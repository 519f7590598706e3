import { beforeEach, describe, expect, it } from 'vitest';
import { coreClock } from './core-clock.ts';

let [used, passed, asked] = [0, 0, 0];
const clock = () =>
  coreClock({
    core: () => {
      asked++;
      return used;
    },
    wall: () => passed,
  });

beforeEach(() => {
  [used, passed, asked] = [50, 1000, 0];
});

describe('the time of a core that a thread has used', () => {
  it('is at most 1 ms too much, however long the thread waited for a core', () => {
    const read = clock();
    for (let at = 0; at < 10_000; at++) {
      passed += (at % 7) * 0.3;
      if (at % 3 === 0) used += (at % 7) * 0.3;
      const excess = read() - used;
      expect(excess).toBeGreaterThanOrEqual(-1e-6);
      expect(excess).toBeLessThanOrEqual(1 + 1e-6);
    }
  });

  it('is asked of the system about once in a millisecond', () => {
    const read = clock();
    for (let at = 0; at < 1000; at++) {
      passed += 0.01;
      used += 0.01;
      read();
    }
    expect(asked).toBeLessThan(12);
  });
});

import { describe, expect, test } from 'vitest';
import { afterSample, QUICK_MS, speedOf, type Latency } from './latency.ts';

/** The latency after attempts of these durations, one a second. */
function measured(...durations: number[]): Latency | undefined {
  let latency: Latency | undefined;
  durations.forEach((ms, second) => (latency = afterSample(latency, { ms, now: second * 1000 })));
  return latency;
}

describe('the measured latency of an endpoint', () => {
  test('is unknown before the first attempt, and five minutes after the last', () => {
    expect(speedOf(undefined, 0)).toBe('unknown');
    expect(speedOf(measured(5), 299_000)).toBe('quick');
    expect(speedOf(measured(5), 301_000)).toBe('unknown');
    expect(afterSample(measured(1000), { ms: 5, now: 301_000 })).toEqual({ ms: 5, at: 301_000 });
  });

  test.each([
    ['quick when all attempts are', [5, 20, 40], 'quick'],
    ['quick at the limit', [QUICK_MS, QUICK_MS], 'quick'],
    ['slow when all attempts take 200 ms', [200, 200], 'slow'],
    ['quick after one long attempt among many', [5, 5, 5, 200, 5], 'quick'],
    ['slow after a timeout', [5, 5, 15_000], 'slow'],
    ['quick again seven fast attempts after a timeout', [15_000, 5, 5, 5, 5, 5, 5, 5], 'quick'],
  ] as const)('is %s', (_, durations, speed) =>
    expect(speedOf(measured(...durations), durations.length * 1000)).toBe(speed),
  );
});

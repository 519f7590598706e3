import { describe, expect, it } from 'vitest';
import { MISSED_LATE, planInstances } from './plan.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 10, 23, 9);

/** Instances at these times relative to now, the first of which is the campaign's next one. */
function planned(times: number[], obstacle?: string) {
  const [first = 0, ...later] = times.map((time) => NOW + time);
  const { instances, nextAt } = planInstances({ nextAt: first, later, now: NOW, obstacle });
  return {
    runs: instances.map(({ dueAt, state, error }) => [dueAt - NOW, state, error]),
    nextAt: nextAt === null ? null : nextAt - NOW,
  };
}

describe('instances of a recurrence', () => {
  it('become runs when they are due, and the first one that is not stays the next one', () => {
    expect(planned([-MINUTE, HOUR, 2 * HOUR])).toEqual({
      runs: [[-MINUTE, 'scheduled', '']],
      nextAt: HOUR,
    });
    expect(planned([0])).toEqual({ runs: [[0, 'scheduled', '']], nextAt: null });
    expect(planned([1])).toEqual({ runs: [], nextAt: 1 });
  });

  it('are missed when they could not start within an hour and the next one is due', () => {
    expect(planned([-49 * HOUR, -25 * HOUR, -HOUR - 1, 23 * HOUR])).toEqual({
      runs: [
        [-49 * HOUR, 'missed', MISSED_LATE],
        [-25 * HOUR, 'missed', MISSED_LATE],
        [-HOUR - 1, 'scheduled', ''],
      ],
      nextAt: 23 * HOUR,
    });
  });

  it('that are not yet late all run, however close they are', () => {
    expect(planned([-2 * MINUTE, -MINUTE, 0, MINUTE]).runs).toEqual([
      [-2 * MINUTE, 'scheduled', ''],
      [-MINUTE, 'scheduled', ''],
      [0, 'scheduled', ''],
    ]);
  });

  it('are missed with the reason that keeps the campaign from running', () => {
    expect(planned([-25 * HOUR, -HOUR, 23 * HOUR], 'not approved').runs).toEqual([
      [-25 * HOUR, 'missed', 'not approved'],
      [-HOUR, 'missed', 'not approved'],
    ]);
  });

  it('of a long outage are recorded a hundred at a time', () => {
    const times = Array.from({ length: 250 }, (_, at) => (at - 250) * HOUR);
    const { runs, nextAt } = planned(times);
    expect(runs).toHaveLength(100);
    expect(nextAt).toBe(-150 * HOUR);
  });
});

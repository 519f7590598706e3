import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decide,
  initialState,
  type Decision,
  type ServiceEvent,
  type ServiceState,
  type Policy,
} from './decide.ts';

const policy: Policy = {
  restartMs: 100,
  capAfterUpMs: 800,
  capMs: 15_000,
  stableMs: 5000,
  stopMs: 10_000,
};

/** Runs events at their instants; answers the last decision. */
function run(
  events: [at: number, event: ServiceEvent][],
  state: ServiceState = initialState,
): Decision {
  let decision: Decision = { state, actions: [] };
  for (const [at, event] of events) decision = decide({ state: decision.state, event, at, policy });
  return decision;
}

const started: [number, ServiceEvent][] = [
  [0, { type: 'start-requested' }],
  [0, { type: 'spawned', pid: 7 }],
];
const died = (at: number): [number, ServiceEvent] => [
  at,
  { type: 'exited', reason: 'SIGKILL', jitter: 0 },
];

describe('one service under the supervisor', () => {
  it('is spawned when a start is requested, and up when it answers', () => {
    expect(run([started[0] ?? died(0)]).actions).toEqual([{ do: 'spawn' }]);
    expect(run([...started, [900, { type: 'answered' }]]).state.now).toEqual({
      phase: 'up',
      pid: 7,
      since: 900,
    });
  });

  it('is restarted within a second after it was up, however often it is killed', () => {
    let state = run([...started, [500, { type: 'answered' }]]).state;
    let at = 500;
    for (let kill = 0; kill < 50; kill++) {
      const death = run([died(at + 50)], state);
      const wake = death.actions.find((action) => action.do === 'set-timer');
      expect(wake?.at).toBeLessThan(at + 50 + 1000);
      at = wake?.at ?? 0;
      const again = run([[at, { type: 'timer' }]], death.state);
      expect(again.actions).toEqual([{ do: 'spawn' }]);
      state = run(
        [
          [at, { type: 'spawned', pid: 8 + kill }],
          [at, { type: 'answered' }],
        ],
        again.state,
      ).state;
    }
    expect(state.restarts).toBe(50);
  });

  it('is restarted also when its timer fires a millisecond early (regression: it stayed down for ever)', () => {
    const death = run([...started, [500, { type: 'answered' }], died(550)]);
    const until = death.state.now.phase === 'backing-off' ? death.state.now.until : 0;
    const early = run([[until - 1, { type: 'timer' }]], death.state);
    expect(early.actions).toEqual([{ do: 'set-timer', at: until }]);
    expect(run([[until, { type: 'timer' }]], early.state).actions).toEqual([{ do: 'spawn' }]);
  });

  it('waits longer after each failed start, up to the cap', () => {
    let state = run(started).state;
    const pauses: number[] = [];
    for (let at = 0; pauses.length < 10; at += 100_000) {
      const death = run([died(at)], state);
      const until = death.state.now.phase === 'backing-off' ? death.state.now.until : at;
      pauses.push(until - at);
      state = run(
        [
          [until, { type: 'timer' }],
          [until, { type: 'spawned', pid: 9 }],
        ],
        death.state,
      ).state;
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000]);
  });

  it('resets its failures after it was up for a while', () => {
    const weak = { ...run(started).state, failures: 8 };
    const proved = run([[1000, { type: 'answered' }], died(1000 + policy.stableMs)], weak);
    expect(proved.state).toMatchObject({
      failures: 0,
      now: { phase: 'backing-off', until: 1000 + policy.stableMs + 100 },
    });
  });

  it('gets SIGTERM, then SIGKILL after the timeout, and stays stopped', () => {
    const stopping = run([...started, [1000, { type: 'stop-requested' }]]);
    expect(stopping.actions).toEqual([
      { do: 'signal', pid: 7, signal: 'SIGTERM' },
      { do: 'set-timer', at: 1000 + policy.stopMs },
    ]);
    expect(run([[5000, { type: 'timer' }]], stopping.state).actions).toEqual([
      { do: 'set-timer', at: 1000 + policy.stopMs },
    ]);
    expect(run([[1000 + policy.stopMs, { type: 'timer' }]], stopping.state).actions).toEqual([
      { do: 'signal', pid: 7, signal: 'SIGKILL' },
    ]);
    const out = run([died(12_000)], stopping.state);
    expect(out).toMatchObject({ actions: [], state: { wanted: false, now: { phase: 'stopped' } } });
  });

  it('is spawned at once when start follows stop before it has exited', () => {
    const again = run([
      ...started,
      [1000, { type: 'stop-requested' }],
      [1100, { type: 'start-requested' }],
      died(1200),
    ]);
    expect(again.actions).toEqual([{ do: 'spawn' }]);
    expect(again.state.restarts).toBe(0);
  });

  it('in its backoff, is not spawned after stop, and at once by start', () => {
    const resting = run([...started, died(100)]);
    expect(
      run(
        [
          [150, { type: 'stop-requested' }],
          [5000, { type: 'timer' }],
        ],
        resting.state,
      ),
    ).toMatchObject({ actions: [], state: { now: { phase: 'stopped' } } });
    expect(run([[150, { type: 'start-requested' }]], resting.state).actions).toEqual([
      { do: 'spawn' },
    ]);
  });

  it('never has two processes at once, whatever the order of events', () => {
    const event = fc.constantFrom<ServiceEvent['type']>(
      'start-requested',
      'stop-requested',
      'answered',
      'exited',
      'timer',
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(event, fc.nat(20_000)), { maxLength: 60 }), (steps) => {
        let state = initialState;
        let alive = false;
        let at = 0;
        let pid = 100;
        for (const [type, pause] of steps) {
          at += pause;
          if (type === 'exited' && !alive) continue;
          if (type === 'exited') alive = false;
          const happened = (
            type === 'exited' ? { type, reason: 'x', jitter: 0.5 } : { type }
          ) as ServiceEvent;
          const { state: next, actions } = decide({ state, event: happened, at, policy });
          state = next;
          for (const action of actions) {
            if (action.do === 'signal') expect(alive).toBe(true);
            if (action.do !== 'spawn') continue;
            expect(alive).toBe(false);
            alive = true;
            pid++;
            state = decide({ state, event: { type: 'spawned', pid }, at, policy }).state;
          }
          expect(alive).toBe('pid' in state.now);
        }
      }),
    );
  });
});

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
  [0, { type: 'start-ordered' }],
  [0, { type: 'spawned', pid: 7 }],
];
const died = (at: number): [number, ServiceEvent] => [
  at,
  { type: 'exited', reason: 'SIGKILL', jitter: 0 },
];

describe('the life of a part', () => {
  it('is spawned when ordered and up when it answers', () => {
    expect(run([started[0] ?? died(0)]).actions).toEqual([{ do: 'spawn' }]);
    expect(run([...started, [900, { type: 'answered' }]]).state.now).toEqual({
      phase: 'up',
      pid: 7,
      since: 900,
    });
  });

  it('is started again within a second after it was up, however often it is killed', () => {
    let state = run([...started, [500, { type: 'answered' }]]).state;
    let at = 500;
    for (let kill = 0; kill < 50; kill++) {
      const death = run([died(at + 50)], state);
      const wake = death.actions.find((action) => action.do === 'wake');
      expect(wake?.at).toBeLessThan(at + 50 + 1000);
      at = wake?.at ?? 0;
      const again = run([[at, { type: 'woken' }]], death.state);
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

  it('is started again also when its timer fires a millisecond early (it stayed down for ever)', () => {
    const death = run([...started, [500, { type: 'answered' }], died(550)]);
    const until = death.state.now.phase === 'resting' ? death.state.now.until : 0;
    const early = run([[until - 1, { type: 'woken' }]], death.state);
    expect(early.actions).toEqual([{ do: 'wake', at: until }]);
    expect(run([[until, { type: 'woken' }]], early.state).actions).toEqual([{ do: 'spawn' }]);
  });

  it('waits longer and longer when it never comes up, up to the cap', () => {
    let state = run(started).state;
    const pauses: number[] = [];
    for (let at = 0; pauses.length < 10; at += 100_000) {
      const death = run([died(at)], state);
      const until = death.state.now.phase === 'resting' ? death.state.now.until : at;
      pauses.push(until - at);
      state = run(
        [
          [until, { type: 'woken' }],
          [until, { type: 'spawned', pid: 9 }],
        ],
        death.state,
      ).state;
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000]);
  });

  it('forgets its failures after it lived a while', () => {
    const weak = { ...run(started).state, failures: 8 };
    const proved = run([[1000, { type: 'answered' }], died(1000 + policy.stableMs)], weak);
    expect(proved.state).toMatchObject({
      failures: 0,
      now: { phase: 'resting', until: 1000 + policy.stableMs + 100 },
    });
  });

  it('gets SIGTERM, then SIGKILL after its time, and stays out', () => {
    const stopping = run([...started, [1000, { type: 'stop-ordered' }]]);
    expect(stopping.actions).toEqual([
      { do: 'signal', pid: 7, signal: 'SIGTERM' },
      { do: 'wake', at: 1000 + policy.stopMs },
    ]);
    expect(run([[5000, { type: 'woken' }]], stopping.state).actions).toEqual([
      { do: 'wake', at: 1000 + policy.stopMs },
    ]);
    expect(run([[1000 + policy.stopMs, { type: 'woken' }]], stopping.state).actions).toEqual([
      { do: 'signal', pid: 7, signal: 'SIGKILL' },
    ]);
    const out = run([died(12_000)], stopping.state);
    expect(out).toMatchObject({ actions: [], state: { wanted: false, now: { phase: 'out' } } });
  });

  it('comes back at once when start follows stop before it has ended', () => {
    const again = run([
      ...started,
      [1000, { type: 'stop-ordered' }],
      [1100, { type: 'start-ordered' }],
      died(1200),
    ]);
    expect(again.actions).toEqual([{ do: 'spawn' }]);
    expect(again.state.restarts).toBe(0);
  });

  it('is not spawned after stop while it rests, and at once by start while it rests', () => {
    const resting = run([...started, died(100)]);
    expect(
      run(
        [
          [150, { type: 'stop-ordered' }],
          [5000, { type: 'woken' }],
        ],
        resting.state,
      ),
    ).toMatchObject({ actions: [], state: { now: { phase: 'out' } } });
    expect(run([[150, { type: 'start-ordered' }]], resting.state).actions).toEqual([
      { do: 'spawn' },
    ]);
  });

  it('never has two processes at once, whatever happens in whatever order', () => {
    const event = fc.constantFrom<ServiceEvent['type']>(
      'start-ordered',
      'stop-ordered',
      'answered',
      'exited',
      'woken',
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

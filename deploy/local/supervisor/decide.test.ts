import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evolver } from '../../../events/testing/given.ts';
import { decide, initialState, type Decision, type Policy, type ServiceEvent } from './decide.ts';

const policy: Policy = {
  restartMs: 100,
  capAfterUpMs: 800,
  capMs: 15_000,
  stableMs: 5000,
  stopMs: 10_000,
};

/** An event and its time, ms. */
type TimedEvent = readonly [at: number, event: ServiceEvent];

const startRequested = (at: number): TimedEvent => [at, { type: 'start-requested' }];
const stopRequested = (at: number): TimedEvent => [at, { type: 'stop-requested' }];
const spawned = (at: number, pid: number): TimedEvent => [at, { type: 'spawned', pid }];
const answered = (at: number): TimedEvent => [at, { type: 'answered' }];
const killed = (at: number): TimedEvent => [at, { type: 'exited', reason: 'SIGKILL', jitter: 0 }];
const timer = (at: number): TimedEvent => [at, { type: 'timer' }];

/** `then` sees the state after all events and the actions of the last one. */
const next = (before: Decision, [at, event]: TimedEvent) =>
  decide({ state: before.state, event, at, policy });
const { given } = evolver(next);
const after = (before: Decision, ...events: readonly TimedEvent[]) => events.reduce(next, before);

const STOPPED: Decision = { state: initialState, actions: [] };
const STARTING = after(STOPPED, startRequested(0), spawned(0, 7));
const UP = after(STARTING, answered(500));
const STOPPING = after(STARTING, stopRequested(1000));
const BACKING_OFF = after(STARTING, killed(100));

describe('one service under the supervisor', () => {
  it('is spawned when a start is requested', () => {
    given(STOPPED)
      .when(startRequested(0))
      .then({ actions: [{ do: 'spawn' }] });
  });

  it('is up when it answers', () => {
    given(STARTING)
      .when(answered(900))
      .then({ state: { now: { phase: 'up', pid: 7, since: 900 } } });
  });

  it('is restarted within a second after it was up, however often it is killed', () => {
    let up = UP;
    let at = 500;
    for (let kill = 0; kill < 50; kill++) {
      const exited = after(up, killed(at + 50));
      const wake = exited.actions.find((action) => action.do === 'set-timer');
      expect(wake?.at).toBeLessThan(at + 50 + 1000);
      at = wake?.at ?? 0;
      given(exited)
        .when(timer(at))
        .then({ actions: [{ do: 'spawn' }] });
      up = after(exited, timer(at), spawned(at, 8 + kill), answered(at));
    }
    expect(up.state.restarts).toBe(50);
  });

  it('is restarted also when its timer fires a millisecond early (regression: it stayed down for ever)', () => {
    given(UP)
      .when(killed(550))
      .then({ state: { now: { phase: 'backing-off', until: 650 } } });
    given(UP)
      .when(killed(550), timer(649))
      .then({ actions: [{ do: 'set-timer', at: 650 }] });
    given(UP)
      .when(killed(550), timer(649), timer(650))
      .then({ actions: [{ do: 'spawn' }] });
  });

  it('waits longer after each failed start, up to the cap', () => {
    let starting = STARTING;
    const pauses: number[] = [];
    for (let at = 0; pauses.length < 10; at += 100_000) {
      const exited = after(starting, killed(at));
      const until = exited.state.now.phase === 'backing-off' ? exited.state.now.until : at;
      pauses.push(until - at);
      starting = after(exited, timer(until), spawned(until, 9));
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000]);
  });

  it('resets its failures after it was up for a while', () => {
    given({ state: { ...STARTING.state, failures: 8 }, actions: [] })
      .when(answered(1000), killed(1000 + policy.stableMs))
      .then({
        state: {
          failures: 0,
          now: { phase: 'backing-off', until: 1000 + policy.stableMs + 100 },
        },
      });
  });

  it('gets SIGTERM when a stop is requested', () => {
    given(STARTING)
      .when(stopRequested(1000))
      .then({
        actions: [
          { do: 'signal', pid: 7, signal: 'SIGTERM' },
          { do: 'set-timer', at: 1000 + policy.stopMs },
        ],
      });
  });

  it('gets SIGKILL after the timeout, not at an earlier timer', () => {
    const killAt = 1000 + policy.stopMs;
    given(STOPPING)
      .when(timer(5000))
      .then({ actions: [{ do: 'set-timer', at: killAt }] });
    given(STOPPING)
      .when(timer(killAt))
      .then({ actions: [{ do: 'signal', pid: 7, signal: 'SIGKILL' }] });
  });

  it('stays stopped when it exits after a stop', () => {
    given(STOPPING)
      .when(killed(12_000))
      .then({ actions: [], state: { wanted: false, now: { phase: 'stopped' } } });
  });

  it('is spawned at once when start follows stop before it has exited', () => {
    given(STOPPING)
      .when(startRequested(1100), killed(1200))
      .then({ actions: [{ do: 'spawn' }], state: { restarts: 0 } });
  });

  it('is not spawned after a stop during its backoff', () => {
    given(BACKING_OFF)
      .when(stopRequested(150), timer(5000))
      .then({ actions: [], state: { now: { phase: 'stopped' } } });
  });

  it('is spawned at once by a start during its backoff', () => {
    given(BACKING_OFF)
      .when(startRequested(150))
      .then({ actions: [{ do: 'spawn' }] });
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
          const { state: changed, actions } = decide({ state, event: happened, at, policy });
          state = changed;
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

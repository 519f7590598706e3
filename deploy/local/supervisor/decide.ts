/** The pure state machine of a supervised service: from state and ServiceEvent to ServiceAction. */
export interface Policy {
  /** Delay before the first restart, ms. */
  restartMs: number;
  /** Longest delay of a service that was up before it exited, and of one that never came up, ms. */
  capAfterUpMs: number;
  capMs: number;
  /** After so long up the failures of a service are reset, ms. */
  stableMs: number;
  /** Time between SIGTERM and SIGKILL, ms. */
  stopMs: number;
}

export type Phase =
  | { phase: 'stopped' }
  | { phase: 'starting'; pid: number | undefined; since: number }
  | { phase: 'up'; pid: number; since: number }
  | { phase: 'backing-off'; until: number }
  | { phase: 'stopping'; pid: number; killAt: number };

export interface ServiceState {
  /** Whether it should run: false from `stop SERVICE` to `start SERVICE`. */
  wanted: boolean;
  now: Phase;
  restarts: number;
  /** Exits in a row, reset after `stableMs` up. */
  failures: number;
  lastExit: string | undefined;
}

export type ServiceEvent =
  | { type: 'start-requested' }
  | { type: 'stop-requested' }
  | { type: 'spawned'; pid: number }
  | { type: 'answered' }
  | { type: 'exited'; reason: string; jitter: number }
  | { type: 'timer' };

export type ServiceAction =
  | { do: 'spawn' }
  | { do: 'signal'; pid: number; signal: 'SIGTERM' | 'SIGKILL' }
  | { do: 'set-timer'; at: number };

export interface Decision {
  state: ServiceState;
  actions: ServiceAction[];
}

export const initialState: ServiceState = {
  wanted: false,
  now: { phase: 'stopped' },
  restarts: 0,
  failures: 0,
  lastExit: undefined,
};

interface Given {
  state: ServiceState;
  event: ServiceEvent;
  /** ms */
  at: number;
  policy: Policy;
}

export function decide(given: Given): Decision {
  const { state, event } = given;
  switch (event.type) {
    case 'start-requested':
      return onStart(given);
    case 'stop-requested':
      return onStop(given);
    case 'spawned':
      if (state.now.phase !== 'starting') return keep(state);
      return keep({ ...state, now: { ...state.now, pid: event.pid } });
    case 'answered':
      if (state.now.phase !== 'starting' || state.now.pid === undefined) return keep(state);
      return keep({ ...state, now: { phase: 'up', pid: state.now.pid, since: given.at } });
    case 'exited':
      return onExit({ ...given, event });
    case 'timer':
      return onTimer(given);
  }
}

function keep(state: ServiceState): Decision {
  return { state, actions: [] };
}

function onStart({ state, at }: Given): Decision {
  switch (state.now.phase) {
    case 'stopped':
    case 'backing-off':
      return spawn({ ...state, wanted: true, failures: 0 }, at);
    case 'stopping':
    case 'starting':
    case 'up':
      return keep({ ...state, wanted: true });
  }
}

function onStop({ state, at, policy }: Given): Decision {
  const unwanted = { ...state, wanted: false };
  switch (state.now.phase) {
    case 'stopped':
    case 'stopping':
      return keep(unwanted);
    case 'backing-off':
      return keep({ ...unwanted, now: { phase: 'stopped' } });
    case 'starting':
    case 'up': {
      const { pid } = state.now;
      if (pid === undefined) return keep({ ...unwanted, now: { phase: 'stopped' } });
      const killAt = at + policy.stopMs;
      return {
        state: { ...unwanted, now: { phase: 'stopping', pid, killAt } },
        actions: [
          { do: 'signal', pid, signal: 'SIGTERM' },
          { do: 'set-timer', at: killAt },
        ],
      };
    }
  }
}

function onExit({
  state,
  event,
  at,
  policy,
}: Given & { event: Extract<ServiceEvent, { type: 'exited' }> }): Decision {
  const ended = { ...state, lastExit: event.reason };
  switch (state.now.phase) {
    case 'stopping':
      return state.wanted
        ? spawn({ ...ended, failures: 0 }, at)
        : keep({ ...ended, now: { phase: 'stopped' } });
    case 'starting':
    case 'up': {
      const wasUp = state.now.phase === 'up';
      const failures = wasUp && at - state.now.since >= policy.stableMs ? 0 : state.failures + 1;
      const cap = wasUp ? policy.capAfterUpMs : policy.capMs;
      const backoff = Math.min(
        cap,
        policy.restartMs * 2 ** Math.min(Math.max(failures - 1, 0), 20),
      );
      const until = Math.round(at + backoff * (1 - event.jitter / 4));
      return {
        state: { ...ended, failures, now: { phase: 'backing-off', until } },
        actions: [{ do: 'set-timer', at: until }],
      };
    }
    case 'stopped':
    case 'backing-off':
      return keep(ended);
  }
}

function onTimer({ state, at }: Given): Decision {
  if (state.now.phase === 'backing-off') {
    // A timer may fire a millisecond before it is due by the clock.
    if (at < state.now.until) return { state, actions: [{ do: 'set-timer', at: state.now.until }] };
    return spawn({ ...state, restarts: state.restarts + 1 }, at);
  }
  if (state.now.phase === 'stopping') {
    if (at < state.now.killAt)
      return { state, actions: [{ do: 'set-timer', at: state.now.killAt }] };
    return { state, actions: [{ do: 'signal', pid: state.now.pid, signal: 'SIGKILL' }] };
  }
  return keep(state);
}

function spawn(state: ServiceState, at: number): Decision {
  return {
    state: { ...state, now: { phase: 'starting', pid: undefined, since: at } },
    actions: [{ do: 'spawn' }],
  };
}

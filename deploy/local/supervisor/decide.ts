/**
 * Life of one part under the supervisor, as values: what is known (PartState), what happened
 * (PartEvent), what to do (PartAction).
 */
export interface Policy {
  /** Delay before the first restart, ms. */
  restartMs: number;
  /** Largest delay for a part that was up before it died, and for one that never came up, ms. */
  capAfterUpMs: number;
  capMs: number;
  /** A part that was up for so long has proved itself: its failures are forgotten. */
  stableMs: number;
  /** How long a part may take to end after SIGTERM before SIGKILL, ms. */
  stopMs: number;
}

export type Phase =
  | { phase: 'out' }
  | { phase: 'starting'; pid: number | undefined; since: number }
  | { phase: 'up'; pid: number; since: number }
  | { phase: 'resting'; until: number }
  | { phase: 'stopping'; pid: number; killAt: number };

export interface ServiceState {
  /** Whether it should run: `stop PART` says no, and it stays out until `start PART`. */
  wanted: boolean;
  now: Phase;
  restarts: number;
  /** Deaths in a row before it had proved itself. */
  failures: number;
  lastExit: string | undefined;
}

export type ServiceEvent =
  | { type: 'start-ordered' }
  | { type: 'stop-ordered' }
  | { type: 'spawned'; pid: number }
  | { type: 'answered' }
  | { type: 'exited'; reason: string; jitter: number }
  | { type: 'woken' };

export type ServiceAction =
  | { do: 'spawn' }
  | { do: 'signal'; pid: number; signal: 'SIGTERM' | 'SIGKILL' }
  | { do: 'wake'; at: number };

export interface Decision {
  state: ServiceState;
  actions: ServiceAction[];
}

export const initialState: ServiceState = {
  wanted: false,
  now: { phase: 'out' },
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
    case 'start-ordered':
      return onStart(given);
    case 'stop-ordered':
      return onStop(given);
    case 'spawned':
      if (state.now.phase !== 'starting') return keep(state);
      return keep({ ...state, now: { ...state.now, pid: event.pid } });
    case 'answered':
      if (state.now.phase !== 'starting' || state.now.pid === undefined) return keep(state);
      return keep({ ...state, now: { phase: 'up', pid: state.now.pid, since: given.at } });
    case 'exited':
      return onExit({ ...given, event });
    case 'woken':
      return onWake(given);
  }
}

function keep(state: ServiceState): Decision {
  return { state, actions: [] };
}

function onStart({ state, at }: Given): Decision {
  switch (state.now.phase) {
    case 'out':
    case 'resting':
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
    case 'out':
    case 'stopping':
      return keep(unwanted);
    case 'resting':
      return keep({ ...unwanted, now: { phase: 'out' } });
    case 'starting':
    case 'up': {
      const { pid } = state.now;
      if (pid === undefined) return keep({ ...unwanted, now: { phase: 'out' } });
      const killAt = at + policy.stopMs;
      return {
        state: { ...unwanted, now: { phase: 'stopping', pid, killAt } },
        actions: [
          { do: 'signal', pid, signal: 'SIGTERM' },
          { do: 'wake', at: killAt },
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
        : keep({ ...ended, now: { phase: 'out' } });
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
        state: { ...ended, failures, now: { phase: 'resting', until } },
        actions: [{ do: 'wake', at: until }],
      };
    }
    case 'out':
    case 'resting':
      return keep(ended);
  }
}

function onWake({ state, at }: Given): Decision {
  if (state.now.phase === 'resting') {
    // A timer may fire a millisecond before the clock says so.
    if (at < state.now.until) return { state, actions: [{ do: 'wake', at: state.now.until }] };
    return spawn({ ...state, restarts: state.restarts + 1 }, at);
  }
  if (state.now.phase === 'stopping') {
    if (at < state.now.killAt) return { state, actions: [{ do: 'wake', at: state.now.killAt }] };
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

/**
 * What the publisher is doing. `failures` counts failures since a record last reached Kafka: it
 * sets the pause before the next attempt. connecting, waiting and draining append new records to
 * the spool; handing_over holds them in memory until the last spooled records are acknowledged.
 */
export type PublisherState =
  | { phase: 'connecting'; failures: number }
  | { phase: 'waiting'; failures: number }
  | { phase: 'draining'; failures: number }
  | { phase: 'handing_over'; failures: number }
  | { phase: 'direct' }
  | { phase: 'closed' };

export type Phase = PublisherState['phase'];

/**
 * connected, connect_failed: the result of an attempt to reach Kafka. failed: a publish failed or
 * is ambiguous (error report, refused by the client, nothing acknowledged in time), or the spool
 * cannot be drained. progressed: spooled records reached Kafka. caught_up: hardly anything in the
 * spool is unread. drained: the spool is empty. overflowed: too many bytes are held in memory, or
 * older records follow. closing: the process ends.
 */
export type Fact =
  | 'connected'
  | 'connect_failed'
  | 'retry_due'
  | 'failed'
  | 'progressed'
  | 'caught_up'
  | 'drained'
  | 'overflowed'
  | 'closing';

/** spool_held: append held and in-flight records to the spool. send_held: send them to Kafka. */
export type Action =
  'connect' | 'retry_later' | 'drain' | 'drop_producer' | 'spool_held' | 'send_held';

/** Where an accepted record goes; `hold` keeps it in memory. */
export type Route = 'log' | 'hold' | 'spool' | 'refuse';

export interface Step {
  state: PublisherState;
  actions: readonly Action[];
}

/** A gateway first drains what an earlier process left in the spool. */
export const initialState: PublisherState = { phase: 'connecting', failures: 0 };

const ROUTES: Record<Phase, Route> = {
  connecting: 'spool',
  waiting: 'spool',
  draining: 'spool',
  handing_over: 'hold',
  direct: 'log',
  closed: 'refuse',
};

export function routeOf(state: PublisherState): Route {
  return ROUTES[state.phase];
}

/** The next state and the actions for it. A fact without meaning in a state changes nothing. */
export function evolve(state: PublisherState, fact: Fact): Step {
  if (fact === 'closing')
    return state.phase === 'closed'
      ? stay(state)
      : { state: { phase: 'closed' }, actions: ['spool_held', 'drop_producer'] };
  switch (state.phase) {
    case 'connecting':
      if (fact === 'connected')
        return { state: { phase: 'draining', failures: state.failures }, actions: ['drain'] };
      if (fact === 'connect_failed')
        return {
          state: { phase: 'waiting', failures: state.failures + 1 },
          actions: ['retry_later'],
        };
      return stay(state);
    case 'waiting':
      return fact === 'retry_due'
        ? { state: { phase: 'connecting', failures: state.failures }, actions: ['connect'] }
        : stay(state);
    case 'draining':
      if (fact === 'failed') return giveUp(state.failures, []);
      if (fact === 'progressed') return { state: { phase: 'draining', failures: 0 }, actions: [] };
      if (fact === 'caught_up')
        return { state: { phase: 'handing_over', failures: state.failures }, actions: [] };
      return fact === 'drained'
        ? { state: { phase: 'direct' }, actions: ['send_held'] }
        : stay(state);
    case 'handing_over':
      if (fact === 'failed') return giveUp(state.failures, ['spool_held']);
      if (fact === 'overflowed')
        return { state: { phase: 'draining', failures: state.failures }, actions: ['spool_held'] };
      if (fact === 'progressed')
        return { state: { phase: 'handing_over', failures: 0 }, actions: [] };
      return fact === 'drained'
        ? { state: { phase: 'direct' }, actions: ['send_held'] }
        : stay(state);
    case 'direct':
      return fact === 'failed' ? giveUp(0, ['spool_held']) : stay(state);
    case 'closed':
      return stay(state);
  }
}

function giveUp(failures: number, first: readonly Action[]): Step {
  return {
    state: { phase: 'waiting', failures: failures + 1 },
    actions: ['drop_producer', ...first, 'retry_later'],
  };
}

function stay(state: PublisherState): Step {
  return { state, actions: [] };
}

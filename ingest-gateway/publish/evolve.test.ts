import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  evolve,
  initialState,
  routeOf,
  type Action,
  type Fact,
  type PublisherState,
} from './evolve.ts';

function after(...facts: Fact[]): { state: PublisherState; actions: Action[] } {
  let state = initialState;
  const actions: Action[] = [];
  for (const fact of facts) {
    const step = evolve(state, fact);
    state = step.state;
    actions.push(...step.actions);
  }
  return { state, actions };
}

describe('the publisher', () => {
  it('first appends to the spool', () => expect(routeOf(initialState)).toBe('spool'));

  it('publishes directly once the spool is empty', () => {
    expect(after('connected', 'drained')).toEqual({
      state: { phase: 'direct' },
      actions: ['drain', 'send_held'],
    });
  });

  it('holds new records in memory while the last spooled records are in flight', () => {
    expect(routeOf(after('connected', 'caught_up').state)).toBe('hold');
    expect(after('connected', 'caught_up', 'drained').actions).toEqual(['drain', 'send_held']);
  });

  it('spools held records when the last spooled ones fail, or too many are held', () => {
    expect(after('connected', 'caught_up', 'failed').actions).toEqual([
      'drain',
      'drop_producer',
      'spool_held',
      'retry_later',
    ]);
    expect(after('connected', 'caught_up', 'overflowed')).toEqual({
      state: { phase: 'draining', failures: 0 },
      actions: ['drain', 'spool_held'],
    });
  });

  it('stops publishing at the first failure, spools records in flight, and drains with another producer', () => {
    const direct: Fact[] = ['connected', 'drained'];
    expect(after(...direct, 'failed')).toEqual({
      state: { phase: 'waiting', failures: 1 },
      actions: ['drain', 'send_held', 'drop_producer', 'spool_held', 'retry_later'],
    });
    expect(after(...direct, 'failed', 'retry_due', 'connected').state.phase).toBe('draining');
  });

  it('counts failures until a spooled record is acknowledged', () => {
    expect(after('connect_failed', 'retry_due', 'connect_failed').state).toEqual({
      phase: 'waiting',
      failures: 2,
    });
    expect(after('connect_failed', 'retry_due', 'connected', 'failed').state).toEqual({
      phase: 'waiting',
      failures: 2,
    });
    expect(after('connect_failed', 'retry_due', 'connected', 'progressed', 'failed').state).toEqual(
      { phase: 'waiting', failures: 1 },
    );
  });

  it('publishes only in phase direct, retries after each failure, and stays closed, whatever happens', () => {
    const fact = fc.constantFrom<Fact>(
      'connected',
      'connect_failed',
      'retry_due',
      'failed',
      'progressed',
      'caught_up',
      'drained',
      'overflowed',
      'closing',
    );
    fc.assert(
      fc.property(fc.array(fact), fact, (facts, next) => {
        const { state } = after(...facts);
        const step = evolve(state, next);
        expect(routeOf(state) === 'log').toBe(state.phase === 'direct');
        if (facts.includes('closing')) expect(state).toEqual({ phase: 'closed' });
        // Leaving a state that keeps records in memory moves them, one way or the other.
        const held = ['hold', 'log'].includes(routeOf(state));
        if (held && !['hold', 'log'].includes(routeOf(step.state)))
          expect(step.actions).toContain('spool_held');
        if (routeOf(state) === 'hold' && routeOf(step.state) === 'log')
          expect(step.actions).toEqual(['send_held']);
        // Every pause has an end, and every attempt to connect one too.
        if (step.state.phase === 'waiting' && state.phase !== 'waiting')
          expect(step.actions).toContain('retry_later');
        if (step.state.phase === 'connecting' && state.phase !== 'connecting')
          expect(step.actions).toContain('connect');
        if (step.state.phase === 'draining' && state.phase === 'connecting')
          expect(step.actions).toContain('drain');
      }),
    );
  });
});

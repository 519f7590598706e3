import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decider } from '../../events/testing/given.ts';
import { evolve, initialState, routeOf, type Fact, type PublisherState } from './evolve.ts';

const { given } = decider(evolve);

/** The state of a new publisher after these facts. */
const after = (...facts: readonly Fact[]): PublisherState =>
  facts.reduce((state, fact) => evolve(state, fact).state, initialState);

const DRAINING = after('connected');
const HANDING_OVER = after('connected', 'caught_up');
const DIRECT = after('connected', 'drained');

describe('the publisher', () => {
  it('first appends new records to the spool', () => {
    expect(routeOf(initialState)).toBe('spool');
  });

  it('drains the spool as soon as it is connected', () => {
    given(initialState)
      .when('connected')
      .then({ state: { phase: 'draining', failures: 0 }, actions: ['drain'] });
  });

  it('publishes directly once the spool is empty', () => {
    given(DRAINING)
      .when('drained')
      .then({ state: { phase: 'direct' }, actions: ['send_held'] });
  });

  it('holds new records in memory while the last spooled records are in flight', () => {
    given(DRAINING)
      .when('caught_up')
      .then({ state: { phase: 'handing_over', failures: 0 }, actions: [] });
    expect(routeOf(HANDING_OVER)).toBe('hold');
  });

  it('sends the held records to Kafka when the last spooled ones are acknowledged', () => {
    given(HANDING_OVER)
      .when('drained')
      .then({ state: { phase: 'direct' }, actions: ['send_held'] });
  });

  it('spools the held records when the last spooled ones fail', () => {
    given(HANDING_OVER)
      .when('failed')
      .then({
        state: { phase: 'waiting', failures: 1 },
        actions: ['drop_producer', 'spool_held', 'retry_later'],
      });
  });

  it('spools the held records when too many are held', () => {
    given(HANDING_OVER)
      .when('overflowed')
      .then({ state: { phase: 'draining', failures: 0 }, actions: ['spool_held'] });
  });

  it('stops publishing at the first failure and spools the records in flight', () => {
    given(DIRECT)
      .when('failed')
      .then({
        state: { phase: 'waiting', failures: 1 },
        actions: ['drop_producer', 'spool_held', 'retry_later'],
      });
  });

  it('connects again after the pause and drains the spool with another producer', () => {
    const waiting = after('connected', 'drained', 'failed');
    given(waiting)
      .when('retry_due')
      .then({ state: { phase: 'connecting', failures: 1 }, actions: ['connect'] });
    given(evolve(waiting, 'retry_due').state)
      .when('connected')
      .then({ state: { phase: 'draining', failures: 1 }, actions: ['drain'] });
  });

  it('counts each failed attempt to connect', () => {
    given(after('connect_failed', 'retry_due'))
      .when('connect_failed')
      .then({ state: { phase: 'waiting', failures: 2 }, actions: ['retry_later'] });
  });

  it('counts on when it connects, but no spooled record is acknowledged', () => {
    given(after('connect_failed', 'retry_due', 'connected'))
      .when('failed')
      .then({
        state: { phase: 'waiting', failures: 2 },
        actions: ['drop_producer', 'retry_later'],
      });
  });

  it('counts from zero again once a spooled record is acknowledged', () => {
    given(after('connect_failed', 'retry_due', 'connected', 'progressed'))
      .when('failed')
      .then({
        state: { phase: 'waiting', failures: 1 },
        actions: ['drop_producer', 'retry_later'],
      });
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
        const state = after(...facts);
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

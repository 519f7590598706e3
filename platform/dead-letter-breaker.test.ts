import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decider } from '../events/testing/given.ts';
import { EMPTY_WINDOW, judge, type BreakerState } from './dead-letter-breaker.ts';

interface Chunk {
  processed: number;
  dead: number;
}

const limits = { minDead: 100, maxDeadShare: 0.5, windowEvents: 10_000 };
const { given } = decider(
  (state: BreakerState, chunk: Chunk) => judge(state, chunk, limits).verdict,
);
const HEALTHY: Chunk = { processed: 2000, dead: 0 };
const FAULTY: Chunk = { processed: 150, dead: 150 };

/** The state after chunks that all pass. */
const after = (...chunks: Chunk[]): BreakerState =>
  chunks.reduce<BreakerState>((state, chunk) => {
    const verdict = judge(state, chunk, limits);
    if (verdict.verdict === 'stop') throw new Error('stopped');
    return verdict.state;
  }, EMPTY_WINDOW);

describe('the dead letter breaker', () => {
  it('lets single poison records pass, even when nothing else arrives', () => {
    const poison: Chunk = { processed: 1, dead: 1 };
    given(after(...Array.from({ length: 98 }, () => poison)))
      .when(poison)
      .then('pass');
  });

  it('passes when half of the events are dead', () => {
    given(EMPTY_WINDOW).when({ processed: 200, dead: 100 }).then('pass');
  });

  it('stops when more than half of the events are dead, and reports their share', () => {
    expect(judge(EMPTY_WINDOW, { processed: 200, dead: 101 }, limits)).toEqual({
      verdict: 'stop',
      share: 0.505,
    });
  });

  it('stops within 20,000 dead events after a long healthy period', () => {
    let state = after(...Array.from({ length: 100 }, () => HEALTHY));
    for (let dead = 0; ; dead += 2000) {
      const verdict = judge(state, { processed: 2000, dead: 2000 }, limits);
      if (verdict.verdict === 'stop') break;
      state = verdict.state;
      expect(dead).toBeLessThan(20_000);
    }
  });

  it('stops a faulty chunk, and lets it pass after enough healthy events', () => {
    given(EMPTY_WINDOW).when(FAULTY).then('stop');
    given(after(HEALTHY)).when(FAULTY).then('pass');
  });

  it('never stops a chunk without dead events, and never stops at all with a share of 1', () => {
    const disabled = { ...limits, maxDeadShare: 1 };
    const chunk = fc.record({ processed: fc.nat(5000), dead: fc.nat(5000) });
    fc.assert(
      fc.property(fc.array(chunk), (chunks) => {
        let state = EMPTY_WINDOW;
        for (const { processed, dead } of chunks) {
          const verdict = judge(state, { processed, dead: Math.min(processed, dead) }, disabled);
          expect(verdict.verdict).toBe('pass');
          if (verdict.verdict === 'pass') state = verdict.state;
          given(state).when({ processed: 10, dead: 0 }).then('pass');
        }
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge, EMPTY_WINDOW, type BreakerState } from './dead-letter-breaker.ts';

const limits = { minDead: 100, maxDeadShare: 0.5, windowEvents: 10_000 };
const after = (...parts: { processed: number; dead: number }[]): BreakerState =>
  parts.reduce<BreakerState>((state, part) => {
    const verdict = judge(state, part, limits);
    if (verdict.verdict === 'stop') throw new Error('stopped');
    return verdict.state;
  }, EMPTY_WINDOW);

describe('the breaker', () => {
  it('lets single poison records go to events.dead, also when nothing else comes', () => {
    expect(
      judge(
        after(...Array.from({ length: 98 }, () => ({ processed: 1, dead: 1 }))),
        { processed: 1, dead: 1 },
        limits,
      ).verdict,
    ).toBe('pass');
  });

  it('stops when most events die, and not before', () => {
    expect(judge(EMPTY_WINDOW, { processed: 200, dead: 100 }, limits).verdict).toBe('pass');
    expect(judge(EMPTY_WINDOW, { processed: 200, dead: 101 }, limits)).toEqual({
      verdict: 'stop',
      share: 0.505,
    });
  });

  it('forgets a healthy past soon enough', () => {
    const healthy = after(...Array.from({ length: 100 }, () => ({ processed: 2000, dead: 0 })));
    let state = healthy;
    for (let dead = 0; ; dead += 2000) {
      const verdict = judge(state, { processed: 2000, dead: 2000 }, limits);
      if (verdict.verdict === 'stop') break;
      state = verdict.state;
      expect(dead).toBeLessThan(20_000);
    }
  });

  it('goes on when others went well meanwhile', () => {
    const bad = { processed: 150, dead: 150 };
    expect(judge(EMPTY_WINDOW, bad, limits).verdict).toBe('stop');
    expect(judge(after({ processed: 2000, dead: 0 }), bad, limits).verdict).toBe('pass');
  });

  it('never stops where nothing died, nor with a share of 1', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ processed: fc.nat(5000), dead: fc.nat(5000) })), (parts) => {
        let state = EMPTY_WINDOW;
        for (const { processed, dead } of parts) {
          const verdict = judge(
            state,
            { processed, dead: Math.min(processed, dead) },
            { ...limits, maxDeadShare: 1 },
          );
          expect(verdict.verdict).toBe('pass');
          if (verdict.verdict === 'pass') state = verdict.state;
          expect(judge(state, { processed: 10, dead: 0 }, limits).verdict).toBe('pass');
        }
      }),
    );
  });
});

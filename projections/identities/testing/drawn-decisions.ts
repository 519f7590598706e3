import fc from 'fast-check';
import type { Decision } from '../decisions.ts';

/** Up to four decisions about these ids, at times of which some are equal. */
export function drawnDecisions(distinctId: fc.Arbitrary<string>): fc.Arbitrary<Decision[]> {
  const times = fc.integer({ min: 0, max: 12 });
  const undo = fc.record({
    ...{ kind: fc.constant('undo' as const), previousId: distinctId },
    ...{ until: times, decidedAt: times },
  });
  const pair = fc
    .record({
      kind: fc.constantFrom('keep_apart' as const, 'rejoin' as const),
      ...{ previousId: distinctId, userId: distinctId, decidedAt: times },
    })
    .filter(({ previousId, userId }) => previousId !== userId);
  return fc.array(fc.oneof(undo, pair), { maxLength: 4 });
}

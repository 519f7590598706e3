import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalIds } from './rebuild.ts';
import { addDecision, noDecisions } from './decisions.ts';
import { drawnDecisions } from './testing/drawn-decisions.ts';
import { specifiedPeople } from './testing/reference-merge.ts';

it('a rebuilt table holds the people of the specification, for any aliases and decisions in any order', () => {
  const distinctId = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const fact = fc.record({
    previousId: distinctId,
    userId: distinctId,
    order: fc.record({
      receivedAt: fc.nat(5),
      epoch: fc.constant(0),
      partition: fc.nat(1),
      offset: fc.nat(50),
      index: fc.nat(3),
    }),
  });
  const facts = fc.uniqueArray(fact, {
    maxLength: 15,
    selector: ({ order }) => `${order.partition}/${order.offset}/${order.index}`,
  });
  return fc.assert(
    fc.asyncProperty(facts, drawnDecisions(distinctId), async (list, drawn) => {
      const valid = list.filter(({ previousId, userId }) => previousId !== userId);
      const decisions = noDecisions();
      for (const one of drawn) addDecision(decisions, one);
      expect(await canonicalIds(valid, decisions)).toEqual(specifiedPeople(valid, drawn));
    }),
  );
});

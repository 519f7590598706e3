import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalIds } from './rebuild.ts';
import { specifiedPeople } from './testing/reference-merge.ts';

it('a rebuilt table holds the people of the specification, for any aliases and undos in any order', () => {
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
  const undos = fc.uniqueArray(fc.record({ previousId: distinctId, until: fc.nat(5) }), {
    maxLength: 3,
    selector: ({ previousId }) => previousId,
  });
  fc.assert(
    fc.property(facts, undos, (list, drawnUndos) => {
      const valid = list.filter(({ previousId, userId }) => previousId !== userId);
      const undone = new Map(drawnUndos.map(({ previousId, until }) => [previousId, until]));
      expect(canonicalIds(valid, undone)).toEqual(specifiedPeople(valid, drawnUndos));
    }),
  );
});

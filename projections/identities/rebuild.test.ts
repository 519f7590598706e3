import fc from 'fast-check';
import { expect, it } from 'vitest';
import { flatNames } from './rebuild.ts';
import { specifiedPeople } from './testing/reference-identities.ts';

it('the names of a rebuilt table are what the specification says, for any aliases and undos in any order', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const fact = fc.record({
    previousId: name,
    userId: name,
    at: fc.record({
      receivedAt: fc.nat(5),
      epoch: fc.constant(0),
      partition: fc.nat(1),
      offset: fc.nat(50),
      index: fc.nat(3),
    }),
  });
  const facts = fc.uniqueArray(fact, {
    maxLength: 15,
    selector: ({ at }) => `${at.partition}/${at.offset}/${at.index}`,
  });
  const undo = fc.record({ previousId: name, until: fc.nat(5) });
  fc.assert(
    fc.property(
      facts,
      fc.uniqueArray(undo, { maxLength: 3, selector: ({ previousId }) => previousId }),
      (list, undos) => {
        const joining = list.filter(({ previousId, userId }) => previousId !== userId);
        const undone = new Map(undos.map(({ previousId, until }) => [previousId, until]));
        expect(flatNames(joining, undone)).toEqual(specifiedPeople(joining, undos));
      },
    ),
  );
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AliasFact } from './alias-fact.ts';
import { joinFacts, undoAlias } from './join.ts';
import { MemoryIdentities } from './testing/memory-store.ts';
import { resolve } from './resolve.ts';
import { specifiedPeople } from './testing/reference-identities.ts';
import type { Undo } from './store.ts';

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
/** Facts of one account; the offset is their number, times meet. */
const facts: fc.Arbitrary<AliasFact[]> = fc
  .array(fc.tuple(name, name, fc.integer({ min: 0, max: 12 }), fc.nat(1)), {
    maxLength: 24,
    size: 'max',
  })
  .map((drawn) =>
    drawn
      .filter(([previousId, userId]) => previousId !== userId)
      .map(([previousId, userId, receivedAt, partition], offset) => ({
        previousId,
        userId,
        at: { receivedAt, epoch: 0, partition, offset, index: 0 },
      })),
  );
const undos: fc.Arbitrary<Undo[]> = fc.array(
  fc.record({ previousId: name, until: fc.integer({ min: 0, max: 12 }) }),
  { maxLength: 2 },
);

function peopleOf(store: MemoryIdentities, mentioned: readonly AliasFact[]): Map<string, string> {
  const names = mentioned.flatMap(({ previousId, userId }) => [previousId, userId]);
  return new Map(names.map((one) => [one, store.rows.get(one)?.canonical ?? one]));
}

describe('people', () => {
  it('are what their specification says, of all facts at once', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const resolution = resolve(all);
        const names = all.flatMap(({ previousId, userId }) => [previousId, userId]);
        const found =
          resolution.kind === 'resolved'
            ? new Map(names.map((one) => [one, resolution.canonicalOf(one)]))
            : undefined;
        expect(found).toEqual(specifiedPeople(all));
      }),
      { numRuns: 2000 },
    );
  });

  it('are the same in whatever order, pieces and repetitions the log is read, with undos anywhere between', async () => {
    const reading = facts.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray(all, { minLength: all.length }),
        fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        reading,
        undos,
        fc.infiniteStream(fc.nat(9)),
        async ([all, shuffled, sizes], taken, chance) => {
          const store = new MemoryIdentities();
          const left = [...taken];
          for (let at = 0; at < shuffled.length;) {
            const size = Number(sizes.next().value);
            const from = chance.next().value < 3 ? Math.max(0, at - 2) : at;
            await joinFacts(store, 1, shuffled.slice(from, at + size));
            at += size;
            const undo = chance.next().value < 3 ? left.pop() : undefined;
            if (undo) await undoAlias(store, 1, undo);
            expect(peopleOf(store, shuffled.slice(0, at))).toEqual(
              specifiedPeople(
                shuffled.slice(0, at),
                taken.filter((one) => !left.includes(one)),
              ),
            );
          }
          for (const undo of left) await undoAlias(store, 1, undo);
          expect(peopleOf(store, all)).toEqual(specifiedPeople(all, taken));
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('are the same when another worker changes the account between the reads and the commit of this one', async () => {
    await fc.assert(
      fc.asyncProperty(
        facts,
        facts,
        fc.infiniteStream(fc.boolean()),
        async (mine, drawn, comesFirst) => {
          const theirs = drawn.map((fact) => ({ ...fact, at: { ...fact.at, partition: 2 } }));
          const store = new MemoryIdentities();
          const waiting = [...theirs];
          store.beforeCommit = async () => {
            if (waiting.length === 0 || !comesFirst.next().value) return;
            const hook = store.beforeCommit;
            store.beforeCommit = () => Promise.resolve();
            await joinFacts(store, 1, waiting.splice(0, 2));
            store.beforeCommit = hook;
          };
          for (const fact of mine) await joinFacts(store, 1, [fact]);
          store.beforeCommit = () => Promise.resolve();
          await joinFacts(store, 1, waiting);
          expect(peopleOf(store, [...mine, ...theirs])).toEqual(
            specifiedPeople([...mine, ...theirs]),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('tells what became of each alias', async () => {
    const store = new MemoryIdentities();
    const fact = (previousId: string, userId: string, offset: number): AliasFact => ({
      previousId,
      userId,
      at: { receivedAt: offset, epoch: 0, partition: 0, offset, index: 0 },
    });
    const [joined, refused, same, circle] = [
      fact('device', 'sara', 1),
      fact('device', 'reza', 2),
      fact('device', 'sara', 3),
      fact('sara', 'device', 4),
    ];
    const outcomes = await joinFacts(store, 1, [joined, refused, same, circle]);
    expect([joined, refused, same, circle].map((one) => outcomes.get(one))).toEqual([
      'joined',
      'refused',
      'same',
      'same',
    ]);
    await undoAlias(store, 1, { previousId: 'device', until: 3 });
    expect(store.rows.get('device')?.canonical).toBe('device');
    // 'sara' was refused as a circle; now that nothing joins the device to her, her own alias
    // counts.
    expect(store.rows.get('sara')?.canonical).toBe('device');
    const again = { ...fact('device', 'sara', 2), at: { ...refused.at, partition: 1 } };
    expect(await joinFacts(store, 1, [refused, again])).toEqual(new Map([[again, 'undone']]));
  });
});

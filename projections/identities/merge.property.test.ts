import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distinctIds, type AliasFact } from './alias-fact.ts';
import { applyAliases, applyDecision } from './apply-aliases.ts';
import { mergeAliases } from './merge.ts';
import { drawnDecisions } from './testing/drawn-decisions.ts';
import { InMemoryIdentities } from './testing/in-memory-store.ts';
import { specifiedPeople } from './testing/reference-merge.ts';

const distinctId = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
/** Facts of one account. The offset is their number; several may have the same time. */
const facts: fc.Arbitrary<AliasFact[]> = fc
  .array(fc.tuple(distinctId, distinctId, fc.integer({ min: 0, max: 12 }), fc.nat(1)), {
    maxLength: 24,
    size: 'max',
  })
  .map((drawn) =>
    drawn
      .filter(([previousId, userId]) => previousId !== userId)
      .map(([previousId, userId, receivedAt, partition], offset) => ({
        previousId,
        userId,
        order: { receivedAt, epoch: 0, partition, offset, index: 0 },
      })),
  );
function peopleOf(store: InMemoryIdentities, mentioned: readonly AliasFact[]): Map<string, string> {
  return new Map(distinctIds(mentioned).map((id) => [id, store.rows.get(id)?.canonicalId ?? id]));
}

describe('merging people', () => {
  it('returns the people of the specification when all facts are known', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const result = mergeAliases(all);
        const found =
          result.kind === 'merged'
            ? new Map(distinctIds(all).map((id) => [id, result.canonicalOf(id)]))
            : undefined;
        expect(found).toEqual(specifiedPeople(all));
      }),
      { numRuns: 2000 },
    );
  });

  it('returns the same people for every order, batching and repetition of the facts, with decisions of operators anywhere between', async () => {
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
        drawnDecisions(distinctId),
        fc.infiniteStream(fc.nat(9)),
        async ([all, shuffled, sizes], drawn, chance) => {
          const store = new InMemoryIdentities();
          const pending = [...drawn];
          for (let at = 0; at < shuffled.length;) {
            const size = Number(sizes.next().value);
            const from = chance.next().value < 3 ? Math.max(0, at - 2) : at;
            await applyAliases(store, 1, shuffled.slice(from, at + size));
            at += size;
            const decision = chance.next().value < 3 ? pending.pop() : undefined;
            if (decision) await applyDecision(store, 1, decision);
            expect(peopleOf(store, shuffled.slice(0, at))).toEqual(
              specifiedPeople(
                shuffled.slice(0, at),
                drawn.filter((one) => !pending.includes(one)),
              ),
            );
          }
          for (const decision of pending) await applyDecision(store, 1, decision);
          expect(peopleOf(store, all)).toEqual(specifiedPeople(all, drawn));
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('returns the same people when another worker changes the account between the reads and the commit', async () => {
    await fc.assert(
      fc.asyncProperty(
        facts,
        facts,
        fc.infiniteStream(fc.boolean()),
        async (own, drawn, commitsFirst) => {
          const others = drawn.map((fact) => ({ ...fact, order: { ...fact.order, partition: 2 } }));
          const store = new InMemoryIdentities();
          const pending = [...others];
          store.beforeCommit = async () => {
            if (pending.length === 0 || !commitsFirst.next().value) return;
            const hook = store.beforeCommit;
            store.beforeCommit = () => Promise.resolve();
            await applyAliases(store, 1, pending.splice(0, 2));
            store.beforeCommit = hook;
          };
          for (const fact of own) await applyAliases(store, 1, [fact]);
          store.beforeCommit = () => Promise.resolve();
          await applyAliases(store, 1, pending);
          expect(peopleOf(store, [...own, ...others])).toEqual(
            specifiedPeople([...own, ...others]),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('reports the outcome of each alias, and an undo lets a refused cycle count', async () => {
    const store = new InMemoryIdentities();
    const fact = (previousId: string, userId: string, offset: number): AliasFact => ({
      previousId,
      userId,
      order: { receivedAt: offset, epoch: 0, partition: 0, offset, index: 0 },
    });
    const [joined, refused, same, cycle] = [
      fact('device', 'sara', 1),
      fact('device', 'reza', 2),
      fact('device', 'sara', 3),
      fact('sara', 'device', 4),
    ];
    const outcomes = await applyAliases(store, 1, [joined, refused, same, cycle]);
    expect([joined, refused, same, cycle].map((one) => outcomes.get(one))).toEqual([
      'joined',
      'refused',
      'same',
      'same',
    ]);
    await applyDecision(store, 1, {
      ...{ kind: 'undo', previousId: 'device', until: 3, decidedAt: 9 },
    });
    expect(store.rows.get('device')?.canonicalId).toBe('device');
    // The alias of 'sara' closed a cycle. Without the undone alias it does not, so it counts now.
    expect(store.rows.get('sara')?.canonicalId).toBe('device');
    const late = { ...fact('device', 'sara', 2), order: { ...refused.order, partition: 1 } };
    expect(await applyAliases(store, 1, [refused, late])).toEqual(new Map([[late, 'undone']]));
  });

  it('keeps two ids apart however often their aliases come again, until they are rejoined', async () => {
    const store = new InMemoryIdentities();
    const fact = (previousId: string, userId: string, offset: number): AliasFact => ({
      ...{ previousId, userId },
      order: { receivedAt: offset, epoch: 0, partition: 0, offset, index: 0 },
    });
    const people = () => [...store.rows.values()].map((row) => [row.distinctId, row.canonicalId]);
    const pair = { previousId: 'device', userId: 'sara' };
    await applyAliases(store, 1, [fact('device', 'sara', 1)]);
    await applyDecision(store, 1, { kind: 'keep_apart', ...pair, decidedAt: 5 });
    const again = [fact('device', 'sara', 6), fact('sara', 'device', 7)];
    expect([...(await applyAliases(store, 1, again)).values()]).toEqual([
      'kept_apart',
      'kept_apart',
    ]);
    expect(people()).toEqual([
      ['sara', 'sara'],
      ['device', 'device'],
    ]);
    await applyAliases(store, 1, [fact('device', 'reza', 8)]);
    expect(store.rows.get('device')?.canonicalId).toBe('reza');
    await applyDecision(store, 1, { kind: 'rejoin', ...pair, decidedAt: 9 });
    // The alias of 'device' to 'sara' is the first one again.
    expect(store.rows.get('device')?.canonicalId).toBe('sara');
    // Read again after a crash, in its order.
    await applyDecision(store, 1, { kind: 'keep_apart', ...pair, decidedAt: 5 });
    expect(store.rows.get('device')?.canonicalId).toBe('sara');
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decisive, decisiveFor, FIRST_RECORD } from './decisive.ts';
import { contradictionOf, recordToRead } from './evidence.ts';

const OF = { topic: 't', partition: 0 };

/** The record at an offset of the log as it was (generation 0), or of what was appended later. */
const recordAt = (offset: number, generation: number) => ({
  next: offset + 1,
  appendedAt: generation * 100 + offset,
  checksum: generation,
});

const evidence = (reader: string, next: number, of = OF) => ({
  ...{ ...of, reader },
  ...recordAt(next - 1, 0),
});

describe('what decides about a partition', () => {
  it('is what the reader knows, and the last record that any reader knows', () => {
    const known = [
      evidence('a', 5),
      evidence('b', 9),
      evidence('c', 7),
      evidence(FIRST_RECORD, 1),
      evidence('d', 20, { topic: 't', partition: 1 }),
      evidence('d', 20, { topic: 'u', partition: 0 }),
    ];
    const readers = (reader: string) => decisiveFor(reader, OF, known).map((one) => one.reader);
    expect([readers('a'), readers('b'), readers('new')]).toEqual([['a', 'b'], ['b'], ['b']]);
    expect(decisive(known).map(({ next }) => next)).toEqual([9, 1, 20, 20]);
  });

  it('is one record when another reader has read exactly as far', () => {
    const known = [evidence('b', 5), evidence('a', 5)];
    expect(decisiveFor('a', OF, known)).toEqual([evidence('a', 5)]);
  });

  it('refuses the log to every reader once one has read what is gone, and to none before', () => {
    const scenario = fc.record({
      read: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
      reader: fc.nat(5),
      kept: fc.nat(20),
      appended: fc.nat(30),
      removed: fc.nat(50),
    });
    fc.assert(
      fc.property(scenario, ({ read, reader, kept, appended, removed }) => {
        const high = kept + appended;
        const low = Math.min(removed, high);
        const known = read.map((next, at) => evidence(`reader ${at}`, next));
        const contradictions = decisiveFor(`reader ${reader}`, OF, known).filter((one) => {
          const at = recordToRead(one, { low, high });
          const found = at === undefined ? undefined : recordAt(at, at < kept ? 0 : 1);
          return contradictionOf(one, { low, high }, found) !== undefined;
        });
        const furthest = Math.max(...read);
        // A record that retention removed tells nothing.
        const isGone = furthest > kept && (furthest > high || furthest > low);
        expect(contradictions.length > 0).toBe(isGone);
      }),
    );
  });
});

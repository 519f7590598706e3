import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contradictionOf, recordToRead } from '../../../platform/log/evidence.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { compareWithRows } from './compare-rows.ts';
import { boundaryOf, keyOf, planAdvance, type PartitionFacts } from './plan.ts';

const OPTIONS = { firstRecord: 'first' };

/** A partition whose log does not contradict anything. */
function facts(of: Partial<PartitionFacts>): PartitionFacts {
  const topic = TOPIC.raw;
  return { topic, partition: 0, low: 0, high: 100, epochs: [], evidence: [], groups: [], ...of };
}

/** What a reader knew at `next`, and what was appended later. */
const ahead = (next: number, appendedAfter: number | undefined) => ({
  ...{ reader: 'normaliser', next, appendedAt: 5, checksum: 1, appendedAfter },
  contradiction: { kind: 'ahead', position: next, end: 100 } as const,
});

describe('the boundary of a partition', () => {
  it('is unknown while nothing contradicts the log', () => {
    const groups = [{ group: 'g', committed: 100 }];
    expect(boundaryOf(facts({ groups }), OPTIONS)).toBeUndefined();
  });

  it('is the end of a log that ends before a position', () => {
    expect(boundaryOf(facts({ evidence: [ahead(120, undefined)] }), OPTIONS)).toBe(100);
    const groups = [{ group: 'g', committed: 120 }];
    expect(boundaryOf(facts({ groups }), OPTIONS)).toBe(100);
  });

  it('is the first record that was appended after the last one that was read', () => {
    expect(boundaryOf(facts({ evidence: [ahead(120, 70)] }), OPTIONS)).toBe(70);
  });

  it('is at the record that is another one, when none was appended after it', () => {
    const contradiction = { kind: 'other_record', position: 80 } as const;
    const evidence = [{ ...ahead(80, undefined), appendedAt: -1, contradiction }];
    expect(boundaryOf(facts({ evidence }), OPTIONS)).toBe(79);
  });

  it('is the beginning when the first record is another one', () => {
    const evidence = [{ ...ahead(1, 40), reader: 'first' }];
    expect(boundaryOf(facts({ low: 0, evidence }), OPTIONS)).toBe(0);
  });

  it('is where the log differs from what was read, whatever was lost and appended', () => {
    const scenario = fc.record({
      read: fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }),
      kept: fc.nat(20),
      appended: fc.nat(30),
      removed: fc.nat(10),
    });
    fc.assert(
      fc.property(scenario, ({ read, kept, appended, removed }) => {
        const recordOf = (offset: number, at: number) => ({
          next: offset + 1,
          appendedAt: at,
          checksum: at * 1000 + offset,
        });
        // Records 0 to 19 at times 0 to 9, two each; later ones from time 50 on.
        const before = Array.from({ length: 20 }, (_, at) => recordOf(at, Math.floor(at / 2)));
        const log = before.slice(0, kept);
        for (let n = 0; n < appended; n++) log.push(recordOf(log.length, 50 + n));
        const low = Math.min(removed, kept);
        const ends = { low, high: log.length };
        const evidence = read.flatMap((next) => {
          const known = before[next - 1];
          if (!known) return [];
          const at = recordToRead(known, ends);
          const contradiction = contradictionOf(known, ends, at === undefined ? at : log[at]);
          const after = log.findIndex(({ appendedAt }) => appendedAt > known.appendedAt);
          const appendedAfter = after < 0 ? undefined : after;
          return [{ ...known, reader: 'r', contradiction, appendedAfter }];
        });
        const furthest = Math.max(...read);
        const boundary = boundaryOf(facts({ ...ends, evidence }), OPTIONS);
        if (furthest <= kept) expect(boundary).toBeUndefined();
        else expect(boundary).toBe(kept);
        // A new epoch removes the evidence about the records from its first one on.
        const left = evidence.filter(({ next }) => next <= (boundary ?? Number.POSITIVE_INFINITY));
        expect(left.filter(({ contradiction }) => contradiction !== undefined)).toEqual([]);
      }),
    );
  });
});

describe('records that are compared with stored rows', () => {
  const record = (offset: number, ...messageIds: string[]) => ({ offset, messageIds });
  const row = (offset: number, index: number, messageId: string) => ({ offset, index, messageId });

  it('move the boundary below every record that disagrees', () => {
    const records = [record(3, 'a'), record(4, 'b', 'c'), record(5, 'd')];
    const rows = [row(3, 0, 'a'), row(4, 1, 'x'), row(5, 0, 'y')];
    expect(compareWithRows(records, rows, 6)).toEqual({ boundary: 4, isCertain: true });
  });

  it('leave it where the last record agrees, or where nothing is stored', () => {
    const records = [record(3, 'a'), record(4, 'b')];
    expect(compareWithRows(records, [row(4, 0, 'b')], 5)).toEqual({ boundary: 5, isCertain: true });
    expect(compareWithRows(records, [], 5)).toEqual({ boundary: 5, isCertain: false });
  });
});

describe('the plan', () => {
  const raw = facts({
    epochs: [{ epoch: 3, firstOffset: 10 }],
    groups: [
      { group: 'normaliser', committed: 120 },
      { group: 'metering', committed: 60 },
      { group: 'new', committed: undefined },
    ],
  });
  const normalised = facts({ topic: TOPIC.normalised, groups: [{ group: 's', committed: 50 }] });
  const other = facts({ partition: 1, groups: [{ group: 'normaliser', committed: 7 }] });
  const dead = facts({ topic: TOPIC.dead });
  const partitions = [raw, normalised, other, dead];
  const plan = (boundaries: [PartitionFacts, number][], derivedFrom: [number, number][] = []) =>
    planAdvance({
      ...{ partitions, normaliser: 'normaliser', derivedFrom: new Map(derivedFrom) },
      boundaries: new Map(boundaries.map(([one, at]) => [keyOf(one), at])),
    });

  it('begins one new epoch in the partition, what is derived from it, and events.dead', () => {
    const { epochs, moves, removesClaims } = plan([[raw, 90]]);
    expect(epochs).toMatchObject([
      { topic: TOPIC.raw, partition: 0, epoch: 4, firstOffset: 90, reason: 'went_back' },
      { topic: TOPIC.normalised, partition: 0, epoch: 4, firstOffset: 100, reason: 'follows' },
      { topic: TOPIC.dead, partition: 0, epoch: 4, firstOffset: 100, reason: 'follows' },
    ]);
    expect(moves).toMatchObject([{ group: 'normaliser', partition: 0, from: 120, to: 90 }]);
    expect(removesClaims).toBe(true);
  });

  it('leaves raw partitions as they are when only derived records are gone', () => {
    const { epochs, moves, removesClaims } = plan([[normalised, 40]], [[0, 33]]);
    expect(epochs.map(({ topic, firstOffset }) => [topic, firstOffset])).toEqual([
      [TOPIC.normalised, 40],
      [TOPIC.dead, 100],
    ]);
    expect(moves).toMatchObject([
      { group: 'normaliser', partition: 0, to: 33 },
      { group: 's', topic: TOPIC.normalised, to: 40 },
    ]);
    expect(removesClaims).toBe(false);
  });

  it('begins an epoch where channel.commands went back, which no other topic follows', () => {
    const groups = [{ group: 'addresses-sink', committed: 80 }];
    const commands = facts({ topic: TOPIC.channelCommands, groups });
    const { epochs, moves, removesClaims } = planAdvance({
      ...{ partitions: [raw, commands], normaliser: 'normaliser', derivedFrom: new Map() },
      boundaries: new Map([[keyOf(commands), 60]]),
    });
    expect(epochs).toMatchObject([
      { topic: TOPIC.channelCommands, partition: 0, epoch: 4, firstOffset: 60 },
    ]);
    expect(moves).toMatchObject([{ group: 'addresses-sink', from: 80, to: 60 }]);
    expect(removesClaims).toBe(false);
  });

  it('is empty when nothing went back', () => {
    expect(plan([])).toEqual({ epochs: [], moves: [], removesClaims: false });
  });
});

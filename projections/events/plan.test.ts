import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decider } from '../../events/testing/given.ts';
import {
  BEFORE_FIRST,
  comparePartitionPositions,
  type PartitionPosition,
} from '../../schemas/log-position.ts';
import {
  insertToken,
  plan,
  resume,
  type InsertLimits,
  type PartitionState,
  type RecordSummary,
} from './plan.ts';

const LIMITS = { rows: 10, bytes: 1000 };
const at = (offset: number, index = 0): PartitionPosition => ({ epoch: 0, offset, index });

/** A record of 100 bytes and two rows that spans the positions `first` to `last`. */
function record(
  offset: number,
  [first, last]: readonly [PartitionPosition, PartitionPosition],
  fields: { fingerprint?: string; rows?: number } = {},
): RecordSummary {
  return { kind: 'rows', offset, bytes: 100, fingerprint: 'f', first, last, rows: 2, ...fields };
}

function processedUpTo(highWatermark: PartitionPosition): PartitionState {
  return { next: 0, highWatermark, uncertain: undefined };
}

const START = processedUpTo(BEFORE_FIRST);
const { given } = decider((state: PartitionState, records: readonly RecordSummary[]) =>
  plan(state, records, LIMITS),
);
const actionsOf = (
  state: PartitionState,
  records: readonly RecordSummary[],
  limits: InsertLimits = LIMITS,
) => plan(state, records, limits).actions;

describe('plan', () => {
  it('stores new rows in one insert and names its range', () => {
    given(START)
      .when([record(0, [at(5), at(6)]), record(1, [at(7), at(8)])])
      .then({
        actions: [
          {
            kind: 'store',
            repeat: false,
            range: { first: 0, last: 1, before: BEFORE_FIRST, end: at(8) },
            slices: [
              { offset: 0, above: undefined },
              { offset: 1, above: undefined },
            ],
          },
        ],
        state: { next: 2, highWatermark: at(8), uncertain: undefined },
        used: 2,
      });
  });

  it('skips a record that was processed before, without an insert', () => {
    given(processedUpTo(at(8)))
      .when([record(3, [at(5), at(8)])])
      .then({
        actions: [],
        state: { next: 4, highWatermark: at(8), uncertain: undefined },
        used: 1,
      });
  });

  it('stores only the new rows of a record that was processed in part', () => {
    expect(actionsOf(processedUpTo(at(7)), [record(3, [at(5), at(9)])])).toMatchObject([
      { kind: 'store', slices: [{ offset: 3, above: at(7) }] },
    ]);
  });

  it('ends an insert at its limits and where the schema changes', () => {
    const records = [0, 1, 2, 3].map((n) =>
      record(n, [at(n), at(n)], { fingerprint: n < 2 ? 'f' : 'g' }),
    );
    expect(actionsOf(START, records, { rows: 100, bytes: 1000 })).toMatchObject([
      { range: { first: 0, last: 1 } },
      { range: { first: 2, last: 3 } },
    ]);
    expect(actionsOf(START, records, { rows: 2, bytes: 1000 })).toHaveLength(4);
    expect(actionsOf(START, records, { rows: 100, bytes: 150 })).toHaveLength(4);
  });

  it('sends an unreadable record to events.dead and stores the records after it', () => {
    const unreadable: RecordSummary = { kind: 'unreadable', offset: 0, bytes: 3 };
    expect(actionsOf(START, [unreadable, record(1, [at(1), at(1)])])).toMatchObject([
      { kind: 'deadLetter', offset: 0 },
      { kind: 'store' },
    ]);
  });

  it('waits for all records of an uncertain range, then repeats it as it was recorded', () => {
    const range = { first: 4, last: 5, before: at(1), end: at(4) };
    const state = resume(range, 4);
    const records = [
      record(4, [at(1), at(2)]),
      record(5, [at(3), at(4)]),
      record(6, [at(5), at(6)]),
    ];
    given(state).when(records.slice(0, 1)).then({ actions: [], state, used: 0 });
    expect(actionsOf(state, records)).toMatchObject([
      { repeat: true, range, slices: [{ offset: 4, above: at(1) }, { offset: 5 }] },
      { repeat: false, range: { first: 6, before: at(4) } },
    ]);
  });

  it('stores each position once however the records are split into calls, and repeats a range with the same slices', () => {
    const logs = fc.array(fc.record({ back: fc.nat(3), length: fc.integer({ min: 1, max: 4 }) }), {
      minLength: 1,
      maxLength: 15,
    });
    fc.assert(
      fc.property(logs, fc.array(fc.integer({ min: 1, max: 4 })), (cuts, sizes) => {
        let high = 0;
        const records = cuts.map(({ back, length }, offset) => {
          const first = Math.max(0, high - back);
          high = Math.max(high, first + length);
          return record(offset, [at(first), at(first + length - 1)], { rows: length });
        });
        const stored: number[] = [];
        let state = START;
        for (let from = 0, call = 0; from < records.length; call++) {
          const some = records.slice(from, from + (sizes[call] ?? 5));
          from += some.length;
          const planned = plan(state, some, LIMITS);
          for (const action of planned.actions) {
            if (action.kind !== 'store') continue;
            const { first, last } = action.range;
            const repeated = actionsOf(resume(action.range, first), records.slice(first, last + 1));
            expect(repeated).toEqual([{ ...action, repeat: true }]);
            for (const { offset, above } of action.slices) {
              const summary = records[offset];
              if (summary?.kind !== 'rows') continue;
              for (let n = summary.first.offset; n <= summary.last.offset; n++) {
                if (!above || comparePartitionPositions(at(n), above) > 0) stored.push(n);
              }
            }
          }
          state = planned.state;
        }
        expect(stored).toEqual(Array.from({ length: high }, (_, n) => n));
      }),
    );
  });
});

describe('a new owner', () => {
  const recorded = { first: 4, last: 9, before: at(1), end: at(7) };
  const repeated = { next: 4, highWatermark: at(1), uncertain: recorded };
  it.each([
    [
      'starts at the committed offset when no range was recorded',
      undefined,
      3,
      { next: 3, highWatermark: BEFORE_FIRST, uncertain: undefined },
    ],
    [
      'continues after the recorded range when the committed offset is past it',
      recorded,
      10,
      { next: 10, highWatermark: at(7), uncertain: undefined },
    ],
    ['repeats the recorded range when the committed offset is before it', recorded, 4, repeated],
    ['repeats the recorded range when an earlier commit was lost', recorded, 2, repeated],
    ['repeats the recorded range when the group never committed', recorded, undefined, repeated],
  ])('%s', (_, range, committed, expected) => {
    expect(resume(range, committed)).toEqual(expected);
  });
});

it('the token of a range consists of topic, partition and offsets', () => {
  const range = { first: 4, last: 9, before: BEFORE_FIRST, end: BEFORE_FIRST };
  expect(insertToken({ topic: 'events.normalised', partition: 3, range })).toBe(
    'events.normalised-3-4-9',
  );
});

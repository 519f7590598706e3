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
  return { next: 0, highWatermark, uncertain: undefined, unsure: BEFORE_FIRST, epochs: [] };
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
            range: { epoch: 0, first: 0, last: 1, before: BEFORE_FIRST, end: at(8) },
            slices: [
              { offset: 0, above: undefined },
              { offset: 1, above: undefined },
            ],
          },
        ],
        state: { ...START, next: 2, highWatermark: at(8) },
        used: 2,
      });
  });

  it('skips a record that was processed before, without an insert', () => {
    given(processedUpTo(at(8)))
      .when([record(3, [at(5), at(8)])])
      .then({
        actions: [],
        state: { ...START, next: 4, highWatermark: at(8) },
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
    const range = { epoch: 0, first: 4, last: 5, before: at(1), end: at(4) };
    const state = resume({ range, unsure: BEFORE_FIRST }, 4, []);
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
            const recorded = { range: action.range, unsure: BEFORE_FIRST };
            const state = resume(recorded, first, []);
            const repeated = actionsOf(state, records.slice(first, last + 1));
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
  const recorded = { epoch: 0, first: 4, last: 9, before: at(1), end: at(7) };
  const repeated = { ...START, next: 4, highWatermark: at(1), uncertain: recorded };
  it.each([
    [
      'starts at the committed offset when no range was recorded',
      undefined,
      3,
      { ...START, next: 3 },
    ],
    [
      'continues after the recorded range when the committed offset is past it',
      recorded,
      10,
      { ...START, next: 10, highWatermark: at(7) },
    ],
    ['repeats the recorded range when the committed offset is before it', recorded, 4, repeated],
    ['repeats the recorded range when an earlier commit was lost', recorded, 2, repeated],
    ['repeats the recorded range when the group never committed', recorded, undefined, repeated],
  ])('%s', (_, range, committed, expected) => {
    expect(resume({ range, unsure: BEFORE_FIRST }, committed, [])).toEqual(expected);
  });

  it('reads back the rows of a range whose records the log lost', () => {
    const lost = resume({ range: recorded, unsure: BEFORE_FIRST }, 8, [
      { epoch: 1, firstOffset: 8 },
    ]);
    expect(lost).toMatchObject({
      ...{ next: 4, highWatermark: at(1), uncertain: undefined, unsure: at(7) },
    });
    const records = [record(8, [at(5), at(6)]), record(9, [at(7), at(9)])];
    const small = { rows: 2, bytes: 1000 };
    expect(actionsOf({ ...lost, next: 8 }, records, small)).toMatchObject([
      { repeat: true, range: { epoch: 1, first: 8, last: 8 } },
      { repeat: true, range: { epoch: 1, first: 9, last: 9 } },
    ]);
    const after = { ...lost, highWatermark: at(7) };
    expect(actionsOf(after, [record(10, [at(8), at(9)])])).toMatchObject([{ repeat: false }]);
  });
});

it('the token of a range consists of topic, partition, epoch and offsets', () => {
  const range = { epoch: 0, first: 4, last: 9, before: BEFORE_FIRST, end: BEFORE_FIRST };
  const token = (epoch: number) =>
    insertToken({ topic: 'events.normalised', partition: 3, range: { ...range, epoch } });
  expect([token(0), token(2)]).toEqual(['events.normalised-3-4-9', 'events.normalised-3-e2-4-9']);
});

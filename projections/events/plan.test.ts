import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  comparePartitionPositions,
  BEFORE_FIRST,
  type PartitionPosition,
} from '../../schemas/log-position.ts';
import { plan, takeOver, tokenOf, type Entry, type PartitionState } from './plan.ts';

const LIMITS = { rows: 10, bytes: 1000 };
const mark = (offset: number, index = 0): PartitionPosition => ({ epoch: 0, offset, index });
const run = (
  offset: number,
  first: PartitionPosition,
  last: PartitionPosition,
  more: Partial<Entry> = {},
): Entry => ({
  kind: 'run',
  offset,
  bytes: 100,
  fingerprint: 'f',
  first,
  last,
  rows: 2,
  ...more,
});
const start = (taken: PartitionPosition = BEFORE_FIRST): PartitionState => ({
  next: 0,
  taken,
  unsettled: undefined,
});

describe('plan', () => {
  it('stores what is new in one batch and names its range', () => {
    const { actions, standing } = plan(
      start(),
      [run(0, mark(5), mark(6)), run(1, mark(7), mark(8))],
      LIMITS,
    );
    expect(actions).toEqual([
      {
        kind: 'store',
        repeat: false,
        range: { first: 0, last: 1, before: BEFORE_FIRST, end: mark(8) },
        pieces: [
          { offset: 0, above: undefined },
          { offset: 1, above: undefined },
        ],
      },
    ]);
    expect(standing).toEqual({ next: 2, taken: mark(8), unsettled: undefined });
  });

  it('skips a run that was taken, without an insert', () => {
    expect(plan(start(mark(8)), [run(3, mark(5), mark(8))], LIMITS)).toMatchObject({
      actions: [],
      standing: { next: 4, taken: mark(8) },
    });
  });

  it('cuts a run that was taken in part', () => {
    const { actions } = plan(start(mark(7)), [run(3, mark(5), mark(9))], LIMITS);
    expect(actions).toMatchObject([{ kind: 'store', pieces: [{ offset: 3, above: mark(7) }] }]);
  });

  it('ends a batch at its limits and where the schema changes', () => {
    const entries = [0, 1, 2, 3].map((n) =>
      run(n, mark(n), mark(n), { fingerprint: n < 2 ? 'f' : 'g' }),
    );
    const { actions } = plan(start(), entries, { rows: 100, bytes: 1000 });
    expect(actions).toMatchObject([
      { range: { first: 0, last: 1 } },
      { range: { first: 2, last: 3 } },
    ]);
    expect(plan(start(), entries, { rows: 2, bytes: 1000 }).actions).toHaveLength(4);
    expect(plan(start(), entries, { rows: 100, bytes: 150 }).actions).toHaveLength(4);
  });

  it('buries what cannot be read and goes on', () => {
    const entries: Entry[] = [
      { kind: 'unreadable', offset: 0, bytes: 3 },
      run(1, mark(1), mark(1)),
    ];
    expect(plan(start(), entries, LIMITS).actions.map(({ kind }) => kind)).toEqual([
      'bury',
      'store',
    ]);
  });

  it('waits for the whole of an unsettled range, then repeats it as it was recorded', () => {
    const range = { first: 4, last: 5, before: mark(1), end: mark(4) };
    const standing = takeOver(range, 4);
    const entries = [run(4, mark(1), mark(2)), run(5, mark(3), mark(4)), run(6, mark(5), mark(6))];
    expect(plan(standing, entries.slice(0, 1), LIMITS)).toEqual({ actions: [], standing, used: 0 });
    expect(plan(standing, entries, LIMITS).actions).toMatchObject([
      { repeat: true, range, pieces: [{ offset: 4, above: mark(1) }, { offset: 5 }] },
      { repeat: false, range: { first: 6, before: mark(4) } },
    ]);
  });
});

describe('takeOver', () => {
  const range = { first: 4, last: 9, before: mark(1), end: mark(7) };
  it.each([
    ['nothing recorded', undefined, 3, { next: 3, taken: BEFORE_FIRST, unsettled: undefined }],
    [
      'the offset has passed the range',
      range,
      10,
      { next: 10, taken: mark(7), unsettled: undefined },
    ],
    ['the offset stands before it', range, 4, { next: 4, taken: mark(1), unsettled: range }],
    ['an earlier commit was lost', range, 2, { next: 4, taken: mark(1), unsettled: range }],
    ['the group never committed', range, undefined, { next: 4, taken: mark(1), unsettled: range }],
  ])('%s', (_, recorded, committed, expected) => {
    expect(takeOver(recorded, committed)).toEqual(expected);
  });
});

it('any two ways to hand over the same records take the same places once, and a repeated range has the same pieces', () => {
  const logs = fc.array(fc.record({ back: fc.nat(3), length: fc.integer({ min: 1, max: 4 }) }), {
    minLength: 1,
    maxLength: 15,
  });
  fc.assert(
    fc.property(logs, fc.array(fc.integer({ min: 1, max: 4 })), (cuts, sizes) => {
      let high = 0;
      const entries = cuts.map(({ back, length }, offset) => {
        const first = Math.max(0, high - back);
        high = Math.max(high, first + length);
        return run(offset, mark(first), mark(first + length - 1), { rows: length });
      });
      const stored: number[] = [];
      let standing = start();
      for (let at = 0, turn = 0; at < entries.length; turn++) {
        const batch = entries.slice(at, at + (sizes[turn] ?? 5));
        at += batch.length;
        const planned = plan(standing, batch, LIMITS);
        for (const action of planned.actions) {
          if (action.kind !== 'store') continue;
          const again = plan(
            takeOver(action.range, action.range.first),
            entries.slice(action.range.first, action.range.last + 1),
            LIMITS,
          );
          expect(again.actions).toEqual([{ ...action, repeat: true }]);
          for (const { offset, above } of action.pieces) {
            const entry = entries[offset];
            if (entry?.kind !== 'run') continue;
            for (let place = entry.first.offset; place <= entry.last.offset; place++) {
              if (!above || comparePartitionPositions(mark(place), above) > 0) stored.push(place);
            }
          }
        }
        standing = planned.standing;
      }
      expect(stored).toEqual(Array.from({ length: high }, (_, place) => place));
    }),
  );
});

it('names a range by topic, partition and offsets', () => {
  expect(
    tokenOf({
      topic: 'events.normalised',
      partition: 3,
      range: { first: 4, last: 9, before: BEFORE_FIRST, end: BEFORE_FIRST },
    }),
  ).toBe('events.normalised-3-4-9');
});

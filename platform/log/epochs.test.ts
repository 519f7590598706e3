import fc from 'fast-check';
import { expect, it } from 'vitest';
import { epochAsOf, epochAt, readEpochs, type EpochStart } from './epochs.ts';

it('A partition without epochs is in epoch 0', () => {
  expect(epochAt([], 0)).toBe(0);
  expect(epochAt([], 1_000_000)).toBe(0);
});

it('An epoch begins at its first offset', () => {
  const starts = [{ epoch: 1, firstOffset: 100 }];
  expect([0, 99, 100, 101].map((offset) => epochAt(starts, offset))).toEqual([0, 0, 1, 1]);
});

it('A later epoch that begins below an earlier one replaces it', () => {
  const starts = [
    { epoch: 1, firstOffset: 100 },
    { epoch: 2, firstOffset: 50 },
    { epoch: 3, firstOffset: 120 },
  ];
  expect([49, 50, 99, 100, 119, 120].map((offset) => epochAt(starts, offset))).toEqual([
    0, 2, 2, 2, 2, 3,
  ]);
});

it('Of a log that goes back and grows, each record has the epoch under which it was appended', () => {
  const step = fc.record({ keep: fc.nat(), append: fc.integer({ min: 0, max: 20 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const log: number[] = [];
      const starts: EpochStart[] = [];
      for (const { keep, append } of steps) {
        log.length = keep % (log.length + 1);
        starts.push({ epoch: starts.length + 1, firstOffset: log.length });
        for (let n = 0; n < append; n++) log.push(starts.length);
        log.forEach((epoch, offset) => expect(epochAt(starts, offset)).toBe(epoch));
        expect(epochAt(starts.toReversed(), log.length)).toBe(starts.length);
      }
    }),
  );
});

/** What names a record: a verdict, or a dead letter. The topic that has it knows of no growth. */
interface Named {
  record: number;
  offset: number;
  epoch: number;
}

it('What names a record is about it until the log loses the record, however often the log grows', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('append' as const), n: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ kind: fc.constant('goes back' as const), n: fc.nat() }),
    fc.record({ kind: fc.constant('grows' as const), n: fc.constant(0) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const log: number[] = [];
      const starts: EpochStart[] = [];
      const named: Named[] = [];
      let [written, own] = [0, 0];
      for (const { kind, n } of steps) {
        const epoch = starts.length + 1;
        if (kind === 'goes back') {
          log.length = n % (log.length + 1);
          starts.push({ epoch, firstOffset: log.length });
          own = epoch;
        } else if (kind === 'grows')
          starts.push({ epoch, firstOffset: log.length, replacesNothing: true });
        else
          for (let at = 0; at < n; at++) {
            named.push({ record: written, offset: log.length, epoch: own });
            log.push(written++);
          }
      }
      for (const { record, offset, epoch } of named)
        expect(epochAsOf(starts, offset, epoch) === epochAt(starts, offset)).toBe(
          log[offset] === record,
        );
    }),
  );
});

it('The epochs of a topic are read by partition', async () => {
  const rows = [
    { partition: 0, epoch: 1, first_offset: '7', reason: 'the log went back' },
    { partition: 2, epoch: 1, first_offset: '0', reason: 'growth to 3 partitions' },
    { partition: 0, epoch: 2, first_offset: '5', reason: 'the log went back' },
  ];
  const database = { query: () => Promise.resolve({ rows }) };
  const epochs = await readEpochs(database as never, 'events.raw');
  expect([epochs.at(0, 4), epochs.at(0, 6), epochs.at(1, 9), epochs.at(2, 0)]).toEqual([
    0, 2, 0, 1,
  ]);
  expect([epochs.newest(0), epochs.newest(1)]).toEqual([2, 0]);
  expect([0, 2].map((partition) => epochs.of(partition)[0]?.replacesNothing)).toEqual([
    false,
    true,
  ]);
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { verdictRecordCodec } from '../../schemas/codec.ts';
import type { Verdict } from '../../schemas/records.ts';
import { eventOffsetKey } from '../../schemas/log-position.ts';
import { VerdictLog } from './verdict-log.ts';

const verdict = (offset: number, index: number): Verdict => ({
  offset,
  index,
  account_id: 1,
  received_at: 0,
  verdict: 'duplicate',
});

async function* batches(records: readonly (readonly Verdict[])[]) {
  for (const [offset, verdicts] of records.entries())
    yield await Promise.resolve([
      { offset, value: verdictRecordCodec.encode({ partition: 0, verdicts: [...verdicts] }) },
    ]);
}

it('leaves out verdicts on records that the log lost', async () => {
  const records = [[verdict(3, 0)], [verdict(9, 0)], [verdict(4, 0), verdict(9, 1)]];
  // The log went back to offset 4 before the third record was written.
  const log = new VerdictLog(batches(records), (offset, at) => offset < 4 || at >= 2);
  expect([...(await log.between(0, 4)).keys()]).toEqual(['3/0', '4/0']);
  expect([...(await log.between(5, 9)).keys()]).toEqual(['9/1']);
});

it('returns exactly the verdicts of the requested records, however the verdicts are batched and repeated', async () => {
  const positions = fc.uniqueArray(fc.tuple(fc.nat(40), fc.nat(2)), {
    selector: ([offset, index]) => `${offset}/${index}`,
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(
      positions,
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 15 }),
      fc.nat(3),
      async (list, size, step, repeatLast) => {
        const sorted = list
          .map(([offset, index]) => verdict(offset, index))
          .sort((a, b) => a.offset - b.offset || a.index - b.index);
        const records: Verdict[][] = [];
        // After a crash the normaliser repeats its last records.
        for (let at = 0; at < sorted.length; at += size)
          records.push(sorted.slice(at, at + size), ...(repeatLast === 0 ? records.slice(-1) : []));
        const log = new VerdictLog(batches(records));
        for (let first = 0; first <= 40; first += step) {
          const last = first + step - 1;
          const found = await log.between(first, last);
          expect([...found.keys()].sort()).toEqual(
            sorted
              .filter(({ offset }) => offset >= first && offset <= last)
              .map(eventOffsetKey)
              .sort(),
          );
        }
        await log.close();
      },
    ),
  );
});

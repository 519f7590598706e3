import { describe, expect, it } from 'vitest';
import type { IngestOutcome, RawRecord, Verdict } from '../../schemas/records.ts';
import { BookDeltas, countOutcome, countRaw, countVerdicts } from './count.ts';

const MINUTE = 60_000;
const record = (items: number, redriven = false) =>
  ({
    account_id: 7,
    received_at: 2 * MINUTE + 1,
    items: Array.from({ length: items }, () => ({})),
    redriven_from: redriven ? { epoch: 0, partition: 0, offset: 1, index: 0 } : null,
  }) as unknown as RawRecord;
const verdict = (offset: number, index: number, kind: Verdict['verdict']): Verdict => ({
  offset,
  index,
  account_id: 7,
  received_at: 2 * MINUTE + 5,
  verdict: kind,
});

describe('the books', () => {
  it('count every place of a raw record under the minute of reception', () => {
    const deltas = new BookDeltas();
    countRaw(deltas, record(3));
    countRaw(deltas, record(2));
    expect(deltas.all()).toMatchObject([{ account_id: 7, minute: 2 * MINUTE, places: 5, repeats: 0, dead: 0 }]);
  });

  it('count a redriven dead letter as no new acceptance', () => {
    const deltas = new BookDeltas();
    countRaw(deltas, record(1, true));
    expect(deltas.all()).toMatchObject([{ places: 1, repeats: 1, dead: -1 }]);
  });

  it('skip verdicts that come again after a crash of the normaliser', () => {
    const deltas = new BookDeltas();
    const last = countVerdicts(deltas, { offset: 4, index: 1 }, [
      verdict(4, 0, 'duplicate'),
      verdict(4, 1, 'duplicate'),
      verdict(4, 2, 'duplicate'),
      verdict(5, 0, 'dead'),
    ]);
    expect(last).toEqual({ offset: 5, index: 0 });
    expect(countVerdicts(deltas, last, [verdict(4, 2, 'duplicate'), verdict(5, 0, 'dead')])).toEqual(last);
    expect(deltas.all()).toMatchObject([{ duplicates_after: 1, dead: 1 }]);
  });

  it('count an outcome that was published twice once', () => {
    const deltas = new BookDeltas();
    const seen = new Map<string, number>();
    const outcome = { gateway: 'g', sequence: 3, account_id: 7, received_at: 0, rejected: 2, duplicate: 1 } as IngestOutcome;
    countOutcome(deltas, seen, outcome);
    countOutcome(deltas, seen, outcome);
    countOutcome(deltas, seen, { ...outcome, gateway: 'h', sequence: 0 });
    expect(deltas.all()).toMatchObject([{ rejected: 4, duplicates_before: 2 }]);
  });
});

import { describe, expect, it } from 'vitest';
import { forwardedRecord } from '../../events/raw/split-record.ts';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import { BEFORE_FIRST, type PartitionPosition } from '../../schemas/log-position.ts';
import type { RawCounts } from '../../schemas/raw-reader.ts';
import type { DeadLetter, EventRow, IngestOutcome, Verdict } from '../../schemas/records.ts';
import { MinuteDeltas, countDeadLetter, countOutcome, countRaw, countVerdicts } from './count.ts';

const MINUTE = 60_000;
const record = (items: number, redriven = false) =>
  ({
    account_id: 7,
    received_at: 2 * MINUTE + 1,
    items,
    redriven_from: redriven ? { epoch: 0, partition: 0, offset: 1, index: 0 } : null,
  }) as unknown as RawCounts;
const verdict = (offset: number, index: number, kind: Verdict['verdict']): Verdict => ({
  offset,
  index,
  account_id: 7,
  received_at: 2 * MINUTE + 5,
  verdict: kind,
});

/** A row of account 7 with nothing else in it. */
function rowOf(receivedAt: number): EventRow {
  const { fields } = eventRowCodec.type.schema() as { fields: { name: string; type: unknown }[] };
  const empty = (type: unknown) =>
    type === 'string' ? '' : type === 'boolean' ? false : typeof type === 'object' ? {} : 0;
  return {
    ...Object.fromEntries(fields.map(({ name, type }) => [name, empty(type)])),
    account_id: 7,
    received_at: receivedAt,
  } as unknown as EventRow;
}

describe('the reconciliation (G6)', () => {
  it('counts every event of a raw record in its minute of reception', () => {
    const deltas = new MinuteDeltas();
    countRaw(deltas, record(3), new Set());
    countRaw(deltas, record(2), new Set());
    expect(deltas.all()).toMatchObject([
      { account_id: 7, minute: 2 * MINUTE, places: 5, repeats: 0, dead: 0 },
    ]);
  });

  it('counts what the platform wrote itself as not billed, once', () => {
    const own = (redriven = false) => ({ ...record(2, redriven), source: 'platform' as const });
    const deltas = new MinuteDeltas();
    countRaw(deltas, record(1), new Set());
    countRaw(deltas, own(), new Set());
    countRaw(deltas, own(true), new Set());
    countRaw(deltas, forwardedRecord(own()), new Set());
    expect(deltas.all()).toMatchObject([{ places: 7, unbilled: 2 }]);
  });

  it('does not count a redriven dead letter as a new acceptance', () => {
    const deltas = new MinuteDeltas();
    countRaw(deltas, record(1, true), new Set());
    expect(deltas.all()).toMatchObject([{ places: 1, repeats: 1, dead: -1 }]);
  });

  it('counts a dead letter once when a killed redrive wrote it to the log twice', () => {
    const deltas = new MinuteDeltas();
    const redriven = new Set<string>();
    countRaw(deltas, record(1), redriven);
    const last = countVerdicts(deltas, BEFORE_FIRST, [verdict(1, 0, 'dead')], () => 0);
    countRaw(deltas, record(1, true), redriven);
    countRaw(deltas, record(1, true), redriven);
    countVerdicts(deltas, last, [verdict(9, 0, 'repeat')], () => 0);
    const [book] = deltas.all();
    expect(book).toMatchObject({ places: 3, repeats: 2, dead: 0 });
  });

  it('counts an event that was forwarded to another partition once, also if it was redriven', () => {
    for (const redriven of [false, true]) {
      const deltas = new MinuteDeltas();
      const known = new Set<string>();
      countRaw(deltas, record(1, redriven), known);
      const { places = 0, repeats = 0, dead = 0 } = { ...deltas.all()[0] };
      countVerdicts(deltas, BEFORE_FIRST, [verdict(1, 0, 'repeat')], () => 0);
      countRaw(deltas, forwardedRecord(record(1, redriven)), new Set());
      const [book] = deltas.all();

      expect(book).toMatchObject({ places: places + 1, repeats: repeats + 1, dead });
    }
  });

  it('counts nothing for a mark of a growth', () => {
    const deltas = new MinuteDeltas();
    countRaw(deltas, record(0), new Set());
    expect(deltas.all()).toEqual([]);
  });

  it('counts a row that ClickHouse rejects as dead once, however often its dead letter was written', () => {
    const rowBatch = {
      epoch: 0,
      partition: 2,
      first_offset: 4,
      first_index: 0,
      last_offset: 4,
      last_index: 0,
      appended_at: 0,
      rows: [rowOf(2 * MINUTE + 9)],
    };
    const deadLetter = (offset: number, index: number | null, stage = 'project') =>
      ({
        stage,
        topic: 'events.normalised',
        partition: 2,
        offset,
        index,
        account_id: 7,
        value: rowBatchCodec.encode(rowBatch),
      }) as DeadLetter;
    const deltas = new MinuteDeltas();
    const last = new Map<string, PartitionPosition>();
    for (const one of [
      deadLetter(5, 1),
      deadLetter(5, 3),
      deadLetter(5, 1),
      deadLetter(5, 3),
      deadLetter(6, 0),
      deadLetter(7, null),
      deadLetter(8, 0, 'normalise'),
    ])
      countDeadLetter(deltas, last, one, () => 0);
    expect(deltas.all()).toMatchObject([{ account_id: 7, minute: 2 * MINUTE, dead: 3 }]);
  });

  it('skips verdicts that are repeated after a crash of the normaliser', () => {
    const deltas = new MinuteDeltas();
    const verdicts = [
      verdict(4, 0, 'duplicate'),
      verdict(4, 1, 'duplicate'),
      verdict(4, 2, 'duplicate'),
      verdict(5, 0, 'dead'),
    ];
    const before = { epoch: 0, offset: 4, index: 1 };
    const last = countVerdicts(deltas, before, verdicts, () => 0);
    expect(last).toEqual({ epoch: 0, offset: 5, index: 0 });
    expect(countVerdicts(deltas, last, verdicts.slice(2), () => 0)).toEqual(last);
    expect(deltas.all()).toMatchObject([{ duplicates_after: 1, dead: 1 }]);
  });

  it('counts verdicts on offsets that were used again after the log went back', () => {
    const deltas = new MinuteDeltas();
    const last = { epoch: 0, offset: 9, index: 0 };
    const after = countVerdicts(deltas, last, [verdict(5, 0, 'dead')], () => 1);
    expect(after).toEqual({ epoch: 1, offset: 5, index: 0 });
    expect(deltas.all()).toMatchObject([{ dead: 1 }]);
  });

  it('counts an outcome once when it was published twice', () => {
    const deltas = new MinuteDeltas();
    const seen = new Map<string, number>();
    const outcome = {
      gateway: 'g',
      sequence: 3,
      account_id: 7,
      received_at: 0,
      rejected: 2,
      duplicate: 1,
    } as IngestOutcome;
    countOutcome(deltas, seen, outcome);
    countOutcome(deltas, seen, outcome);
    countOutcome(deltas, seen, { ...outcome, gateway: 'h', sequence: 0 });
    expect(deltas.all()).toMatchObject([{ rejected: 4, duplicates_before: 2 }]);
  });
});

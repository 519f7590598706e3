import { describe, expect, it } from 'vitest';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type {
  DeadLetter,
  EventRow,
  IngestOutcome,
  RawRecord,
  Verdict,
} from '../../schemas/records.ts';
import {
  MinuteDeltas,
  countDeadLetter,
  countOutcome,
  countRaw,
  countVerdicts,
  type VerdictPosition,
} from './count.ts';

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

describe('the books', () => {
  it('count every place of a raw record under the minute of reception', () => {
    const deltas = new MinuteDeltas();
    countRaw(deltas, record(3), new Set());
    countRaw(deltas, record(2), new Set());
    expect(deltas.all()).toMatchObject([
      { account_id: 7, minute: 2 * MINUTE, places: 5, repeats: 0, dead: 0 },
    ]);
  });

  it('count a redriven dead letter as no new acceptance', () => {
    const deltas = new MinuteDeltas();
    countRaw(deltas, record(1, true), new Set());
    expect(deltas.all()).toMatchObject([{ places: 1, repeats: 1, dead: -1 }]);
  });

  it('stay right when a killed redrive put a letter into the log twice: the second one is a repeat, and dead once', () => {
    const deltas = new MinuteDeltas();
    const redriven = new Set<string>();
    countRaw(deltas, record(1), redriven);
    const last = countVerdicts(deltas, { offset: -1, index: -1 }, [verdict(1, 0, 'dead')]);
    countRaw(deltas, record(1, true), redriven);
    countRaw(deltas, record(1, true), redriven);
    countVerdicts(deltas, last, [verdict(9, 0, 'repeat')]);
    const [book] = deltas.all();
    expect(book).toMatchObject({ places: 3, repeats: 2, dead: 0 });
  });

  it('count a row that ClickHouse refuses as dead once, however often its letter was written', () => {
    const run = {
      epoch: 0,
      partition: 2,
      first_offset: 4,
      first_index: 0,
      last_offset: 4,
      last_index: 0,
      appended_at: 0,
      rows: [rowOf(2 * MINUTE + 9)],
    };
    const letter = (offset: number, index: number | null, stage = 'project') =>
      ({
        stage,
        topic: 'events.normalised',
        partition: 2,
        offset,
        index,
        account_id: 7,
        value: rowBatchCodec.encode(run),
      }) as DeadLetter;
    const deltas = new MinuteDeltas();
    const last = new Map<string, VerdictPosition>();
    for (const one of [
      letter(5, 1),
      letter(5, 3),
      letter(5, 1),
      letter(5, 3),
      letter(6, 0),
      letter(7, null),
      letter(8, 0, 'normalise'),
    ])
      countDeadLetter(deltas, last, one);
    expect(deltas.all()).toMatchObject([{ account_id: 7, minute: 2 * MINUTE, dead: 3 }]);
  });

  it('skip verdicts that come again after a crash of the normaliser', () => {
    const deltas = new MinuteDeltas();
    const last = countVerdicts(deltas, { offset: 4, index: 1 }, [
      verdict(4, 0, 'duplicate'),
      verdict(4, 1, 'duplicate'),
      verdict(4, 2, 'duplicate'),
      verdict(5, 0, 'dead'),
    ]);
    expect(last).toEqual({ offset: 5, index: 0 });
    expect(
      countVerdicts(deltas, last, [verdict(4, 2, 'duplicate'), verdict(5, 0, 'dead')]),
    ).toEqual(last);
    expect(deltas.all()).toMatchObject([{ duplicates_after: 1, dead: 1 }]);
  });

  it('count an outcome that was published twice once', () => {
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

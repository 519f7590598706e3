import { rawRecordCodec, UnreadableRecord } from '../../schemas/codec.ts';
import { recordsInBatch } from '../../schemas/raw-batch.ts';
import type { DeadLetter, RawRecord } from '../../schemas/records.ts';

export type RedrivenRecords =
  /** One record for each sequence of consecutive items. */
  | {
      readonly kind: 'records';
      readonly partition: number;
      readonly records: readonly [RawRecord, ...RawRecord[]];
    }
  /** This version cannot redrive the record; `why` says what must happen first. */
  | { readonly kind: 'unready'; readonly why: string };

/**
 * The raw records that retry a dead letter of the normaliser, for the same partition of events.raw
 * (ARCHITECTURE.md, G7). They contain the original position, so that the claims move to the new
 * ones, and keep gateway and sequence: it is the same acceptance and is not counted as a new one. A
 * record that could not be decoded was never counted as accepted, since its items were unknown: it
 * is redriven without an original position.
 * @param bytes the whole failed record: the value of the dead letter, or of the record in
 * events.raw when the dead letter is truncated
 */
export function redrivenRecords(
  deadLetter: Pick<DeadLetter, 'partition' | 'offset' | 'index' | 'indexes' | 'events'>,
  bytes: Buffer,
  epoch: number,
): RedrivenRecords {
  let record: RawRecord;
  let firstIndex = 0;
  try {
    const [inBatch] = recordsInBatch(bytes) ?? [];
    record = rawRecordCodec.decode(inBatch?.value ?? bytes);
    firstIndex = inBatch?.firstIndex ?? 0;
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    const why =
      error.code === 'unknown_schema'
        ? 'run the version that wrote it, then redrive'
        : 'its bytes are no raw record: discard it';
    return { kind: 'unready', why: `${error.message}; ${why}` };
  }
  const { partition, offset, index, indexes } = deadLetter;
  if (deadLetter.events === 0)
    return { kind: 'records', partition, records: [{ ...record, redriven_from: null }] };
  if (index === null) {
    const original = { epoch, partition, offset, index: 0 };
    return { kind: 'records', partition, records: [{ ...record, redriven_from: original }] };
  }
  const items = indexes.length > 1 ? indexes : [index];
  const missing = items.find((item) => record.items[item - firstIndex] === undefined);
  if (missing !== undefined)
    return { kind: 'unready', why: `the record holds no item ${missing}: discard the dead letter` };
  const [first = [index], ...more] = runsOf(items);
  const recordOf = ([number = index, ...rest]: readonly number[]): RawRecord => {
    const from = number - firstIndex;
    return {
      ...record,
      sequence: record.sequence + from,
      items: record.items.slice(from, from + rest.length + 1),
      redriven_from: { epoch, partition, offset, index: number },
    };
  };
  return { kind: 'records', partition, records: [recordOf(first), ...more.map(recordOf)] };
}

/** Ascending numbers in sequences without gaps: an item's original index follows from its place. */
function runsOf(items: readonly number[]): number[][] {
  const runs: number[][] = [];
  for (const item of items) {
    const last = runs.at(-1);
    if (last?.at(-1) === item - 1) last.push(item);
    else runs.push([item]);
  }
  return runs;
}

/** Equal for the same redrive: the same acceptance and the same original position. */
export function redriveKey({ redriven_from: from, gateway, sequence, items }: RawRecord): string {
  const origin = from ? `${from.epoch}/${from.partition}/${from.offset}/${from.index}` : '-';
  return `${origin} ${sequence} ${items.length} ${gateway}`;
}

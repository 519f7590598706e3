import { rawRecordCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { DeadLetter, RawRecord } from '../../schemas/records.ts';

export type RedrivenRecord =
  | { readonly kind: 'record'; readonly partition: number; readonly record: RawRecord }
  /** This version cannot redrive the record; `why` says what must happen first. */
  | { readonly kind: 'unready'; readonly why: string };

/**
 * The raw record that retries a dead letter of the normaliser, for the same partition of events.raw
 * (ARCHITECTURE.md, G7). It contains the original position, so that the claim moves to the new one,
 * and keeps gateway and sequence: it is the same acceptance and is not counted as a new one. A
 * record that could not be decoded was never counted as accepted, since its items were unknown: it
 * is redriven without an original position.
 * @param bytes the whole failed record: the value of the dead letter, or of the record in
 * events.raw when the dead letter is truncated
 */
export function redrivenRecord(
  deadLetter: Pick<DeadLetter, 'partition' | 'offset' | 'index' | 'events'>,
  bytes: Buffer,
  epoch: number,
): RedrivenRecord {
  let record: RawRecord;
  try {
    record = rawRecordCodec.decode(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    const why =
      error.code === 'unknown_schema'
        ? 'run the version that wrote it, then redrive'
        : 'its bytes are no raw record: discard it';
    return { kind: 'unready', why: `${error.message}; ${why}` };
  }
  const { partition, offset, index } = deadLetter;
  if (deadLetter.events === 0)
    return { kind: 'record', partition, record: { ...record, redriven_from: null } };
  const original = { epoch, partition, offset, index: index ?? 0 };
  if (index === null)
    return { kind: 'record', partition, record: { ...record, redriven_from: original } };
  const item = record.items[index];
  if (item === undefined)
    return { kind: 'unready', why: `the record holds no item ${index}: discard the dead letter` };
  return {
    kind: 'record',
    partition,
    record: {
      ...record,
      sequence: record.sequence + index,
      items: [item],
      redriven_from: original,
    },
  };
}

/**
 * Whether both records are the same redrive: the same acceptance and the same original position.
 */
export function isRedriveOf(found: RawRecord, wanted: RawRecord): boolean {
  const [a, b] = [found.redriven_from, wanted.redriven_from];
  const sameOrigin =
    a === null || b === null
      ? a === b
      : a.epoch === b.epoch &&
        a.partition === b.partition &&
        a.offset === b.offset &&
        a.index === b.index;
  return (
    sameOrigin &&
    found.gateway === wanted.gateway &&
    found.sequence === wanted.sequence &&
    found.items.length === wanted.items.length
  );
}

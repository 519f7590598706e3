import { rawRecordCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { DeadLetter, RawRecord } from '../../schemas/records.ts';

export type RedrivenRecord =
  | { readonly kind: 'record'; readonly partition: number; readonly record: RawRecord }
  /** This version cannot make anything of the bytes: what must happen first, in a sentence. */
  | { readonly kind: 'unready'; readonly why: string };

/**
 * The raw record that gives a letter of the normaliser another try, for the same partition of
 * events.raw (DESIGN.md, "Replay"). It names the old place, so that the claim moves to the new one,
 * and keeps gateway and sequence: it is the same acceptance, and is no new one in the books. A
 * letter whose record nobody could read was never counted as accepted, since its items were
 * unknown: it goes in again as what it is, naming no place.
 * @param bytes the whole failed record: the value of the letter, or of its position in events.raw
 * where the letter had to be cut
 */
export function redrivenRecord(
  letter: Pick<DeadLetter, 'partition' | 'offset' | 'index' | 'events'>,
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
  const { partition, offset, index } = letter;
  if (letter.events === 0)
    return { kind: 'record', partition, record: { ...record, redriven_from: null } };
  const place = { epoch, partition, offset, index: index ?? 0 };
  if (index === null)
    return { kind: 'record', partition, record: { ...record, redriven_from: place } };
  const item = record.items[index];
  if (item === undefined)
    return { kind: 'unready', why: `the record holds no item ${index}: discard the letter` };
  return {
    kind: 'record',
    partition,
    record: { ...record, sequence: record.sequence + index, items: [item], redriven_from: place },
  };
}

/**
 * Whether a raw record is the redrive of this one: the same acceptance, naming the same old place.
 */
export function isRedriveOf(found: RawRecord, wanted: RawRecord): boolean {
  const [a, b] = [found.redriven_from, wanted.redriven_from];
  const samePlace =
    a === null || b === null
      ? a === b
      : a.epoch === b.epoch &&
        a.partition === b.partition &&
        a.offset === b.offset &&
        a.index === b.index;
  return (
    samePlace &&
    found.gateway === wanted.gateway &&
    found.sequence === wanted.sequence &&
    found.items.length === wanted.items.length
  );
}

import { decodeIfReadable, rawRecordCodec, UnreadableRecord } from '../../schemas/codec.ts';
import { ERASED, type RawItem, type RawRecord } from '../../schemas/records.ts';
import { rawAccountOf, rawHeadOf } from '../../schemas/raw-head.ts';
import { encodeRawBatch, recordsInBatch, type RecordInBatch } from '../../schemas/raw-batch.ts';
import { distinctIdOf, idText } from '../event-name.ts';
import { isJsonObject } from '../json.ts';
import { decodeRecord, wholeRecord } from '../raw/decode-record.ts';
import { isForwarded } from '../raw/split-record.ts';
import type { ErasedPeople, RawPlace } from './erased-people.ts';
import { elementSpans, textsIn } from './json-spans.ts';

/** Where a raw record lies. */
interface RawRecordAt extends RawPlace {
  value: Buffer;
}

const GONE = Buffer.from('null');
const EMPTY = Buffer.from('{}');
const NO_BYTES = Buffer.alloc(0);

/**
 * A value of events.raw without the events of erased people; undefined when it holds none. The
 * records of a batch keep their numbers. Of a damaged batch nothing is kept if it has a name.
 */
export function eraseFromRaw(at: RawRecordAt, erased: ErasedPeople): Buffer | undefined {
  if (erased.isEmpty) return undefined;
  let batch: readonly RecordInBatch[] | undefined;
  try {
    batch = recordsInBatch(at.value);
  } catch (error) {
    if (error instanceof UnreadableRecord) return eraseUndecodable(at, erased);
    throw error;
  }
  if (!batch) return eraseFromRawRecord(at, erased);
  const left = batch.map(({ value }) => eraseFromRawRecord({ ...at, value }, erased));
  if (left.every((value) => value === undefined)) return undefined;
  const records = batch.map(({ items, value }, record) => ({
    items,
    value: left[record] ?? value,
  }));
  return encodeRawBatch(records, batch[0]?.firstIndex);
}

/**
 * The raw record without the events of erased people; undefined when it holds none. Their items
 * keep their index and hold nothing else, and `null` stands for them in the body: positions do not
 * change. The bytes of other people's events stay as they are. Rejected events of a batch, which
 * are in the body only, are erased as well. What cannot be decoded is emptied if it has a name.
 */
function eraseFromRawRecord(
  { value, ...place }: RawRecordAt,
  erased: ErasedPeople,
): Buffer | undefined {
  const accountId = rawAccountOf(value);
  if (accountId !== undefined && !erased.hasAccount(accountId)) return undefined;
  const head = rawHeadOf(value);
  const places = head?.redriven_from ? [place, head.redriven_from] : [place];
  if (!places.some((one) => erased.mayCover(one))) return undefined;
  const decoded = decodeRecord({ topic: '', timestamp: 0, key: null, value, ...place });
  if (decoded.state === 'undecodable') return eraseUndecodable({ value, ...place }, erased);
  const { envelopes } = decoded;
  const record = wholeRecord(decoded);
  const isErased = (text: string) =>
    erased.covers({ accountId: record.account_id, distinctId: text, places });
  const gone = new Set(
    envelopes.flatMap((envelope, at) => (isErased(distinctIdIn(envelope)) ? [at] : [])),
  );
  const { delivery } = record;
  const keepsDelivery = !delivery || (gone.size === 0 && !hasText(delivery.body, isErased));
  if (gone.size === 0 && keepsDelivery) return undefined;
  return rawRecordCodec.encode({
    ...record,
    ...(gone.size === envelopes.length ? connectionOf(record) : {}),
    body: bodyWithout(record, envelopes, gone),
    items: record.items.map((item) => (gone.has(item.at) ? erasedItem(item) : item)),
    delivery: delivery && (keepsDelivery ? delivery : { ...delivery, body: NO_BYTES }),
  });
}

function distinctIdIn(envelope: unknown): string {
  if (!isJsonObject(envelope)) return '';
  return distinctIdOf({
    user_id: idText(envelope['user_id']),
    anonymous_id: idText(envelope['anonymous_id']),
  });
}

function erasedItem({ at, index }: RawItem): RawItem {
  return {
    ...{ at, index, type: ERASED, message_id: '', generated: false, dedupe_id: null },
    timestamp: 0,
  };
}

/** What a record that holds nobody else's events says about the connection. */
function connectionOf(record: RawRecord): Partial<RawRecord> {
  return { ip: '', user_agent: '', trace: '', ...(isForwarded(record) ? {} : { origin: '' }) };
}

function bodyWithout(
  { body, shape }: RawRecord,
  envelopes: readonly unknown[],
  gone: ReadonlySet<number>,
): Buffer {
  if (gone.size === 0) return body;
  if (shape !== 'batch') return EMPTY;
  if (gone.size === envelopes.length)
    return Buffer.from(JSON.stringify({ batch: envelopes.map(() => null) }));
  const kept: Buffer[] = [];
  let end = 0;
  for (const [at, { from, to }] of elementSpans(body, 'batch').entries()) {
    if (!gone.has(at)) continue;
    kept.push(body.subarray(end, from), GONE);
    end = to;
  }
  return Buffer.concat([...kept, body.subarray(end)]);
}

function hasText(bytes: Buffer, isErased: (text: string) => boolean): boolean {
  for (const text of textsIn(bytes)) if (isErased(text)) return true;
  return false;
}

/** A record whose body is no JSON, or whose bytes are no raw record. */
function eraseUndecodable(
  { value, ...place }: RawRecordAt,
  erased: ErasedPeople,
): Buffer | undefined {
  if (!erased.mayCover(place)) return undefined;
  const isErased = (distinctId: string) =>
    erased
      .accounts()
      .some((accountId) => erased.covers({ accountId, distinctId, places: [place] }));
  if (!hasText(value, isErased)) return undefined;
  const record = decodeIfReadable(rawRecordCodec, value);
  if (!record) return NO_BYTES;
  const items = record.items.map(erasedItem);
  const batch = Array.from({ length: Math.max(0, ...items.map(({ at }) => at + 1)) }, () => null);
  const body = record.shape === 'batch' ? Buffer.from(JSON.stringify({ batch })) : EMPTY;
  return rawRecordCodec.encode({ ...record, ...connectionOf(record), body, items, delivery: null });
}

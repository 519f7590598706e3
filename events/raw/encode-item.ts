import { AvroWriter } from '../../schemas/avro-writer.ts';
import { writeAdded, writeContext } from '../../schemas/row-encoder.ts';
import type { AcceptedItem, EventRow } from '../../schemas/records.ts';
import type { EncodedDatum } from '../../schemas/row-reader.ts';
import {
  defaultEventName,
  eventNameOf,
  hasFixedName,
  idText,
  MAX_EVENT_BYTES,
} from '../event-name.ts';
import { jsonObject } from '../json.ts';
import { ContextWriter } from '../context-bytes.ts';
import { normalEnd } from '../normal-bytes.ts';
import type { ContextReader } from '../normalise.ts';
import { PropertyWriter } from '../property-bytes.ts';
import { normaliseTraits } from '../traits.ts';
import { wholeRows, type ItemToNormalise, type RowMaker } from './decide.ts';
import type { DecodedRecord } from './decode-record.ts';
import { LastContext } from './last-context.ts';
import { PLACE, PLACES } from './scan-events.ts';

const { EVENT, USER_ID, ANONYMOUS_ID, PREVIOUS_ID, TRAITS, CONTEXT, PROPERTIES } = PLACE;

/** A row as it is stored, with what decides where it goes and whether it is kept. */
export type EncodedRow = Pick<
  EventRow,
  | ('_epoch' | '_partition' | '_offset' | '_index' | '_dedupe_id')
  | ('account_id' | 'message_id' | 'timestamp' | 'received_at')
> & { encoded: EncodedDatum };

/**
 * Encodes the row of an accepted event from the bytes of its body: the bytes that normaliseEvent
 * and RowEncoder give, without the values between.
 */
export class ItemEncoder {
  readonly #contexts: ContextReader;
  readonly #properties = new PropertyWriter();
  readonly #contextWriter = new ContextWriter();
  /** Most events of a record, and many records after each other, have the same context. */
  readonly #last = new LastContext();

  constructor(contexts: ContextReader) {
    this.#contexts = contexts;
  }

  /**
   * Appends the row, and returns where it is. Undefined, and nothing is written, for what is not
   * common: normaliseEvent must make the row, and may throw.
   */
  encode(item: ItemToNormalise, to: AvroWriter, version: number): EncodedRow | undefined {
    const from = to.end;
    try {
      if (this.#write(item, to, version)) {
        const { item: accepted, position } = item;
        const { record } = item.decoded;
        return {
          _epoch: position.epoch,
          _partition: position.partition,
          _offset: position.offset,
          _index: position.index,
          _dedupe_id: accepted.dedupe_id ?? '',
          account_id: record.account_id,
          message_id: accepted.message_id,
          timestamp: accepted.timestamp,
          received_at: record.received_at,
          encoded: { version, bytes: to.buffer, from, to: to.end },
        };
      }
    } catch (error) {
      // A number that is not exact.
      if (!(error instanceof RangeError)) throw error;
    }
    to.truncate(from);
    return undefined;
  }

  #write(
    { decoded, item, position, acceptance }: ItemToNormalise,
    to: AvroWriter,
    version: number,
  ): boolean {
    const { record, scanned, bytes } = decoded;
    // Opens of messages are flagged by a property.
    if (!scanned || record.source === 'platform') return false;
    const { places } = scanned;
    const first = item.at * PLACES;
    to.long(position.epoch);
    to.long(position.partition);
    to.long(position.offset);
    to.long(position.index);
    to.long(acceptance);
    to.string(item.dedupe_id ?? '');
    to.long(record.account_id);
    to.long(record.app_id);
    to.string(item.type);
    writeName(decoded, first, item.type, to);
    writeId(bytes, places[first + USER_ID] ?? 0, places[first + USER_ID + 1] ?? 0, to);
    writeId(bytes, places[first + ANONYMOUS_ID] ?? 0, places[first + ANONYMOUS_ID + 1] ?? 0, to);
    if (item.type === 'alias')
      writeId(bytes, places[first + PREVIOUS_ID] ?? 0, places[first + PREVIOUS_ID + 1] ?? 0, to);
    else to.string('');
    to.string(item.message_id);
    to.long(item.timestamp);
    to.long(record.received_at);
    const properties = places[first + PROPERTIES] ?? 0;
    if (properties === 0 || item.type === 'identify') this.#properties.writeNone(to);
    else if (!this.#properties.write(bytes, properties, to)) return false;
    to.double(this.#properties.revenue);
    to.string(this.#properties.currency);
    this.#writeContext(decoded, first, to);
    writeTraits(decoded, first, to);
    writeAdded({ _trace: record.trace }, to, version);
    return true;
  }

  /** The columns from `source` to `city`: encoded once for events of the same context. */
  #writeContext(decoded: DecodedRecord, first: number, to: AvroWriter): void {
    const { scanned, record, bytes } = decoded;
    let start = scanned?.places[first + CONTEXT] ?? 0;
    let end = scanned?.places[first + CONTEXT + 1] ?? 0;
    if (end === 0) {
      start = scanned?.contextStart ?? 0;
      end = scanned?.contextEnd ?? 0;
    }
    const from = to.end;
    const last = this.#last;
    if (last.isThat(decoded, start, end)) return to.raw(last.block, 0, last.blockLength);
    to.string(record.source);
    const connection = this.#contexts.connection(record);
    if (!this.#contextWriter.write(bytes, { start, end }, connection, to)) {
      to.truncate(from);
      const context = end === 0 ? undefined : decoded.parse(start, end);
      writeContext({ ...this.#contexts.columns(context, record), source: record.source }, to);
    }
    last.remember(decoded, { start, end }, to.bytes(from, to.end));
  }
}

function writeName(
  { bytes, scanned }: DecodedRecord,
  first: number,
  type: AcceptedItem['type'],
  to: AvroWriter,
): void {
  if (hasFixedName(type)) return to.string(defaultEventName(type));
  const start = scanned?.places[first + EVENT] ?? 0;
  const end = scanned?.places[first + EVENT + 1] ?? 0;
  if (end > start && end - start <= MAX_EVENT_BYTES && normalEnd(bytes, start) === end)
    return to.encodedString(bytes, start, end);
  to.string(eventNameOf(type, end === 0 ? undefined : bytes.toString('utf8', start, end)));
}

function writeId(bytes: Buffer, start: number, end: number, to: AvroWriter): void {
  let units = 0;
  for (let at = start; at < end; at++) units |= bytes[at] ?? 0;
  if (units < 0x80) to.encodedString(bytes, start, end);
  else to.string(idText(bytes.toString('utf8', start, end)));
}

function writeTraits(decoded: DecodedRecord, first: number, to: AvroWriter): void {
  const start = decoded.scanned?.places[first + TRAITS] ?? 0;
  const end = decoded.scanned?.places[first + TRAITS + 1] ?? 0;
  const sent = end - start <= 2 ? undefined : decoded.parse(start, end);
  if (sent === undefined) {
    for (let map = 0; map < 3; map++) to.long(0);
    return;
  }
  const traits = normaliseTraits(jsonObject(sent));
  to.texts(traits.text);
  to.numbers(traits.numbers);
  to.texts(traits.columns);
}

/**
 * Makes rows that are encoded, where that is possible, each in the version that `version` asks for.
 * One is valid until the next one is made.
 */
export function encodedRows(
  contexts: ContextReader,
  version: () => number,
): RowMaker<EventRow | EncodedRow> {
  const encoder = new ItemEncoder(contexts);
  const whole = wholeRows(contexts);
  const writer = new AvroWriter(ROW_BYTES);
  return (item) => {
    writer.reset(ROW_BYTES);
    return encoder.encode(item, writer, version()) ?? whole(item);
  };
}

/** Larger than nearly every row. */
const ROW_BYTES = 16 * 1024;

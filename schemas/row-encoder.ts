import type { EventRow } from './records.ts';
import type { AvroWriter, EncodedRange } from './avro-writer.ts';
import { ROW_VERSIONS, type RowField } from './row-versions.ts';

/**
 * Encodes rows as any version of event-row, twice as fast as the codec: the columns from the
 * connection and the context form one block of bytes that the events of a request share. The block
 * is encoded once and copied while these columns stay the same. The fields that later versions add
 * follow from their schemas.
 */
export class RowEncoder {
  #last: EventRow | undefined;
  #block: EncodedRange | undefined;

  /** Throws RangeError for a number that a long cannot represent; truncate `to` then. */
  encode(row: EventRow, to: AvroWriter, version: number): void {
    writeIdentity(row, to);
    const isSame = this.#last !== undefined && sameContext(row, this.#last);
    if (!isSame || this.#block === undefined || !to.copyRange(this.#block)) {
      const from = to.end;
      writeContext(row, to);
      this.#block = to.rangeFrom(from);
      this.#last = row;
    }
    to.texts(row.traits);
    to.numbers(row.trait_numbers);
    to.texts(row.profile);
    writeAdded(row, to, version);
  }
}

/** The fields after those of version 1. */
export type AddedFields = Pick<EventRow, '_trace'>;

/** Writes the fields that the versions after the first one added, up to `version`. */
export function writeAdded(row: AddedFields, to: AvroWriter, version: number): void {
  for (const { since, write } of ADDED) if (since <= version) write(row, to);
}

type FieldWriter = (row: AddedFields, to: AvroWriter) => void;

/** The fields after those of version 1, in their order, and the version that added each. */
const ADDED: readonly { since: number; write: FieldWriter }[] = ROW_VERSIONS.flatMap(
  ({ version, fields }, at) =>
    fields
      .slice(ROW_VERSIONS[at - 1]?.fields.length ?? fields.length)
      .map((field) => ({ since: version, write: fieldWriter(field) })),
);

/** Writes one field; the default of the schema when the row has no value. */
function fieldWriter({ name, type, default: otherwise }: RowField): FieldWriter {
  const value = (row: AddedFields): unknown =>
    (row as unknown as Record<string, unknown>)[name] ?? otherwise;
  const kind = typeof type === 'string' ? type : JSON.stringify(type);
  switch (kind) {
    case 'string':
      return (row, to) => to.string(value(row) as string);
    case 'int':
    case 'long':
      return (row, to) => to.long(value(row) as number);
    case 'double':
      return (row, to) => to.double(value(row) as number);
    case 'boolean':
      return (row, to) => to.boolean(value(row) as boolean);
    case '{"type":"map","values":"string"}':
      return (row, to) => to.texts(value(row) as Record<string, string>);
    case '{"type":"map","values":"double"}':
      return (row, to) => to.numbers(value(row) as Record<string, number>);
    default:
      throw new Error(`event-row: no writer for the field ${name} of type ${kind}`);
  }
}

function writeIdentity(row: EventRow, to: AvroWriter): void {
  to.long(row._epoch);
  to.long(row._partition);
  to.long(row._offset);
  to.long(row._index);
  to.long(row._acceptance);
  to.string(row._dedupe_id);
  to.long(row.account_id);
  to.long(row.app_id);
  to.string(row.type);
  to.string(row.event);
  to.string(row.user_id);
  to.string(row.anonymous_id);
  to.string(row.previous_id);
  to.string(row.message_id);
  to.long(row.timestamp);
  to.long(row.received_at);
  to.texts(row.properties);
  to.numbers(row.property_numbers);
  to.double(row.revenue);
  to.string(row.currency);
}

/** The columns from the connection and the context: from `source` to `city`. */
export type ContextBlock = Omit<
  EventRow,
  | ('_epoch' | '_partition' | '_offset' | '_index' | '_acceptance' | '_dedupe_id' | '_trace')
  | ('account_id' | 'app_id' | 'type' | 'event' | 'message_id' | 'timestamp' | 'received_at')
  | ('user_id' | 'anonymous_id' | 'previous_id' | 'properties' | 'property_numbers')
  | ('revenue' | 'currency' | 'traits' | 'trait_numbers' | 'profile')
>;

/** Writes the columns of a row from `source` to `city`, in their order. */
export function writeContext(row: ContextBlock, to: AvroWriter): void {
  to.string(row.source);
  to.string(row.ip);
  to.string(row.user_agent);
  to.boolean(row.is_bot);
  to.string(row.browser_name);
  to.string(row.browser_version);
  to.string(row.library_name);
  to.string(row.library_version);
  to.string(row.app_version);
  to.string(row.device_type);
  to.string(row.device_model);
  to.string(row.device_vendor);
  to.string(row.push_provider);
  to.string(row.os_name);
  to.string(row.os_version);
  to.string(row.carrier);
  to.string(row.page_url);
  to.string(row.page_path);
  to.string(row.page_referrer);
  to.string(row.page_title);
  to.string(row.utm_source);
  to.string(row.utm_medium);
  to.string(row.utm_campaign);
  to.string(row.utm_term);
  to.string(row.utm_content);
  to.long(row.campaign_id);
  to.long(row.journey_id);
  to.string(row.variant_id);
  to.string(row.source_message_id);
  to.string(row.sg_t);
  to.string(row.locale);
  to.string(row.timezone);
  to.string(row.session_id);
  to.string(row.country);
  to.string(row.region);
  to.string(row.city);
}

/** Strings of the same context are the same objects, so comparing them costs almost nothing. */
function sameContext(a: EventRow, b: EventRow): boolean {
  return (
    a.user_agent === b.user_agent &&
    a.session_id === b.session_id &&
    a.source === b.source &&
    a.ip === b.ip &&
    a.is_bot === b.is_bot &&
    a.browser_name === b.browser_name &&
    a.browser_version === b.browser_version &&
    a.library_name === b.library_name &&
    a.library_version === b.library_version &&
    a.app_version === b.app_version &&
    a.device_type === b.device_type &&
    a.device_model === b.device_model &&
    a.device_vendor === b.device_vendor &&
    a.push_provider === b.push_provider &&
    a.os_name === b.os_name &&
    a.os_version === b.os_version &&
    a.carrier === b.carrier &&
    a.page_url === b.page_url &&
    a.page_path === b.page_path &&
    a.page_referrer === b.page_referrer &&
    a.page_title === b.page_title &&
    a.utm_source === b.utm_source &&
    a.utm_medium === b.utm_medium &&
    a.utm_campaign === b.utm_campaign &&
    a.utm_term === b.utm_term &&
    a.utm_content === b.utm_content &&
    a.campaign_id === b.campaign_id &&
    a.journey_id === b.journey_id &&
    a.variant_id === b.variant_id &&
    a.source_message_id === b.source_message_id &&
    a.sg_t === b.sg_t &&
    a.locale === b.locale &&
    a.timezone === b.timezone &&
    a.country === b.country &&
    a.region === b.region &&
    a.city === b.city
  );
}

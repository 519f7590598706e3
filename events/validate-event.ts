import type { EventType } from '../schemas/records.ts';
import { fitsBytes, wellFormed } from './bytes.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { hasFixedName, isEventType, MAX_EVENT_BYTES, MAX_ID_BYTES } from './event-name.ts';
import { normalisePersian } from './persian.ts';
import { inspectProperties } from './properties.ts';
import { rejection, unknownType, type Rejection } from './rejections.ts';
import { parseRfc3339 } from './rfc3339.ts';
import { decideTime } from './time.ts';
import { inspectTraits } from './traits.ts';
import { fixedWarning, type Warning } from './warnings.ts';

/** When an event was received and the ingest window of its account, in milliseconds. */
export interface Receipt {
  now: number;
  /** The account's ingest window: ingestWindow in time.ts. */
  windowMs: number;
}

/** The decision about an accepted event. */
export interface AcceptedEvent {
  /** Position in the request. */
  index: number;
  type: EventType;
  /** user_id, or else anonymous_id; well formed. */
  distinctId: string;
  /** As sent, well formed; empty when `generated`: the caller generates one. */
  message_id: string;
  generated: boolean;
  /** Milliseconds since the epoch, after clamping and clock correction. */
  timestamp: number;
  /** All warnings, in the order of the rules. Shared between events: do not mutate. */
  warnings: readonly Warning[];
}

export interface RejectedEvent extends Rejection {
  index: number;
}

/**
 * A field has a JSON type that it cannot have: the whole request is malformed (ingest 2.1 rule 3).
 */
export class MalformedEnvelope extends Error {
  override readonly name = 'MalformedEnvelope';
}

const NO_WARNINGS: readonly Warning[] = [];
const ONLY_GENERATED: readonly Warning[] = [fixedWarning('generated_message_id')];

/** A text field; empty when absent. Throws MalformedEnvelope unless it is a string or null. */
function textField(envelope: JsonObject, field: string): string {
  const value = envelope[field];
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  throw new MalformedEnvelope(`${field} is not a string`);
}

/**
 * An object field; undefined when absent. Throws MalformedEnvelope unless it is an object or null.
 */
export function objectField(envelope: JsonObject, field: string): JsonObject | undefined {
  const value = envelope[field];
  if (value === undefined || value === null) return undefined;
  if (isJsonObject(value)) return value;
  throw new MalformedEnvelope(`${field} is not an object`);
}

/**
 * A time field in milliseconds since the epoch; undefined when absent. Throws MalformedEnvelope
 * unless it is an RFC 3339 string; an empty string is not.
 */
export function timeField(envelope: JsonObject, field: string): number | undefined {
  const value = envelope[field];
  if (value === undefined || value === null) return undefined;
  const time = typeof value === 'string' ? parseRfc3339(value) : NaN;
  if (Number.isNaN(time)) throw new MalformedEnvelope(`${field} is not an RFC 3339 time`);
  return time;
}

/** What the rules of an event read of it; texts are empty when absent. */
export interface EventFields {
  /** As sent; not read when the path gives the type. */
  readonly type: string;
  readonly event: string;
  readonly userId: string;
  readonly anonymousId: string;
  readonly previousId: string;
  readonly messageId: string;
  /** `timestamp` in milliseconds since the epoch. */
  readonly sent: number | undefined;
  /** `sent_at` in milliseconds since the epoch. */
  readonly sentAt: number | undefined;
  /** Undefined as well when no warning can follow from them. */
  readonly properties: JsonObject | undefined;
  readonly traits: JsonObject | undefined;
}

/** The fields of an envelope. Throws MalformedEnvelope for one of another JSON type. */
export function eventFields(envelope: JsonObject, type: EventType | undefined): EventFields {
  const fields = {
    type: type ?? textField(envelope, 'type'),
    event: textField(envelope, 'event'),
    userId: textField(envelope, 'user_id'),
    anonymousId: textField(envelope, 'anonymous_id'),
    previousId: textField(envelope, 'previous_id'),
    messageId: textField(envelope, 'message_id'),
    sent: timeField(envelope, 'timestamp'),
    sentAt: timeField(envelope, 'sent_at'),
    properties: objectField(envelope, 'properties'),
    traits: objectField(envelope, 'traits'),
  };
  objectField(envelope, 'context');
  return fields;
}

export interface EventInput {
  fields: EventFields;
  index: number;
  /** The type given by the path; undefined: the event's own. */
  type: EventType | undefined;
  /** sent_at of the batch, for an event without its own. */
  batchSentAt: number | undefined;
}

/**
 * Decides one event: accepted with warnings, or rejected by the first rule that it violates, in the
 * order of ingest 7.3 (2.1, 2.4, 4.3, 8).
 */
export function decideEvent(
  { fields, index, type: pathType, batchSentAt }: EventInput,
  receipt: Receipt,
): AcceptedEvent | RejectedEvent {
  const { event, userId, anonymousId, previousId, messageId, properties, traits } = fields;
  const sentType = pathType ?? fields.type;
  if (!isEventType(sentType)) return { ...unknownType(sentType), index };
  const broken =
    identityRejection(userId, anonymousId) ??
    nameRejection(sentType, event) ??
    idLengthRejection(userId, anonymousId, messageId) ??
    aliasRejection(sentType, previousId);
  if (broken !== undefined) return { ...broken, index };

  const { timestamp, warning } = decideTime({
    timestamp: fields.sent,
    sentAt: fields.sentAt ?? batchSentAt,
    now: receipt.now,
    windowMs: receipt.windowMs,
  });
  const generated = messageId === '';
  let warnings: readonly Warning[] = generated ? ONLY_GENERATED : NO_WARNINGS;
  if (warning !== undefined) warnings = [...warnings, fixedWarning(warning)];
  const found: Warning[] = [];
  if (properties !== undefined && sentType !== 'identify') inspectProperties(properties, found);
  if (traits !== undefined) inspectTraits(traits, found);
  if (found.length > 0) warnings = [...warnings, ...found];
  return {
    index,
    type: sentType,
    distinctId: wellFormed(userId || anonymousId),
    message_id: wellFormed(messageId),
    generated,
    timestamp,
    warnings,
  };
}

function identityRejection(userId: string, anonymousId: string): Rejection | undefined {
  return userId === '' && anonymousId === '' ? rejection('missing_identity', 'user_id') : undefined;
}

/** Long enough to detect a name that is too long, even if truncation ends after a space. */
const NAME_PROBE_BYTES = MAX_EVENT_BYTES + 8;

/**
 * Measures the name as it would be stored, but searches the sent text for control characters (apart
 * from outer whitespace): a line break inside a name is an error, not a space.
 */
function nameRejection(type: EventType, sent: string): Rejection | undefined {
  if (hasFixedName(type)) return undefined;
  const name = sent === '' ? '' : normalisePersian(sent, NAME_PROBE_BYTES);
  if (name === '') return type === 'track' ? rejection('missing_event_name', 'event') : undefined;
  if (!fitsBytes(name, MAX_EVENT_BYTES)) return rejection('event_name_too_long', 'event');
  return holdsControl(sent.trim()) ? rejection('event_name_invalid_chars', 'event') : undefined;
}

function holdsControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f)) return true;
  }
  return false;
}

function idLengthRejection(
  userId: string,
  anonymousId: string,
  messageId: string,
): Rejection | undefined {
  if (!fitsBytes(userId, MAX_ID_BYTES)) return rejection('id_too_long', 'user_id');
  if (!fitsBytes(anonymousId, MAX_ID_BYTES)) return rejection('id_too_long', 'anonymous_id');
  return fitsBytes(messageId, MAX_ID_BYTES) ? undefined : rejection('id_too_long', 'message_id');
}

function aliasRejection(type: EventType, previousId: string): Rejection | undefined {
  return type === 'alias' && previousId === ''
    ? rejection('missing_previous_id', 'previous_id')
    : undefined;
}

import type { EventType, OutcomeCount, SdkBalance } from '../schemas/records.ts';
import { sdkOf } from './context.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { batchTooLarge, MAX_BATCH_ITEMS, rejection, type Rejection } from './rejections.ts';
import {
  decideEvent,
  eventFields,
  MalformedEnvelope,
  objectField,
  timeField,
  type AcceptedEvent,
  type EventFields,
  type Receipt,
  type RejectedEvent,
} from './validate-event.ts';
import { OutcomeCounter } from './outcome-counter.ts';
import { balanceOf } from './sdk-balance.ts';
import { MAX_LISTED_WARNINGS, type Warning } from './warnings.ts';

/** The decisions about the events of one request. */
export interface DecidedEvents {
  outcome: 'decided';
  /** Number of events in the request. */
  received: number;
  accepted: AcceptedEvent[];
  rejected: RejectedEvent[];
  /** At most 50 (ingest 2.6); `counts` counts all. */
  warnings: Warning[];
  /**
   * Every rejection and every warning, for the quality report. `field` of unserialisable_property
   * is the key (at most 256 different counts).
   */
  counts: OutcomeCount[];
  /** What the SDK reported of itself with a batch. */
  balance?: SdkBalance;
}

/** Not JSON of the required shape: 400 `malformed JSON`. `detail` is for the log. */
export interface MalformedRequest {
  outcome: 'malformed';
  detail: string;
}

/** The whole batch is rejected (batch_empty, batch_too_large): 400 with `reason`. */
export interface RefusedBatch extends Rejection {
  outcome: 'refused';
}

/**
 * Decides the event of POST /v1/track, identify, page, screen or alias (ingest 4.3). `body` is the
 * result of JSON.parse; the path gives the type. A rejected event is in `rejected`: answer 400 with
 * its reason.
 */
export function decideSingle(
  input: { body: unknown; type: EventType } & Receipt,
): DecidedEvents | MalformedRequest {
  const { body, type } = input;
  if (!isJsonObject(body)) return { outcome: 'malformed', detail: 'the body is not a JSON object' };
  return guarded(() => decideEvents(readEnvelopes([body], { type }), input));
}

/**
 * Decides the items of POST /v1/batch (ingest 4.4). More than 500 items are refused before any is
 * checked. An item that is not an object, or has a field of a wrong JSON type, makes the whole
 * request malformed (ingest 2.1 rule 3). `sent`: the number of items, when the body has only the
 * first of more than 500.
 */
export function decideBatch(
  input: { body: unknown; sent?: number | undefined } & Receipt,
): DecidedEvents | MalformedRequest | RefusedBatch {
  const { body } = input;
  if (!isJsonObject(body)) return { outcome: 'malformed', detail: 'the body is not a JSON object' };
  const items = body['batch'] ?? [];
  if (!Array.isArray(items)) return { outcome: 'malformed', detail: 'batch is not an array' };
  const sent = input.sent ?? items.length;
  if (sent > MAX_BATCH_ITEMS) return { outcome: 'refused', ...batchTooLarge(sent) };
  return guarded(() => {
    const sentAt = timeField(body, 'sent_at');
    const context = objectField(body, 'context');
    if (items.length === 0) return { outcome: 'refused', ...rejection('batch_empty', 'batch') };
    return decideEvents(readEnvelopes(items, { sentAt, context }), input);
  });
}

/** The events of a request, read from its body. */
export interface ReadEvents {
  readonly events: readonly EventFields[];
  /** What an event says of its own context; undefined or null: nothing. */
  readonly contextOf: (index: number) => unknown;
  /** The type given by the path. */
  readonly type?: EventType | undefined;
  /** Of a batch, for events without their own, in milliseconds since the epoch. */
  readonly sentAt?: number | undefined;
  /** Of a batch, for events without their own. */
  readonly context?: JsonObject | undefined;
}

/**
 * Decides the events of POST /v1/events (management 4.2): batch items without a common context. The
 * caller enforces the bounds of that route.
 */
export function decideImport(
  input: { items: readonly unknown[] } & Receipt,
): DecidedEvents | MalformedRequest {
  return guarded(() => decideEvents(readEnvelopes(input.items), input));
}

function readEnvelopes(
  items: readonly unknown[],
  common: Pick<ReadEvents, 'type' | 'sentAt' | 'context'> = {},
): ReadEvents {
  const events = items.map((envelope, index) => {
    if (!isJsonObject(envelope)) throw new MalformedEnvelope(`item ${index} is not an object`);
    return eventFields(envelope, common.type);
  });
  return { ...common, events, contextOf: (index) => (items[index] as JsonObject)['context'] };
}

/** Decides the events of a request, and reads what its SDK reports of itself. */
export function decideEvents(read: ReadEvents, receipt: Receipt): DecidedEvents {
  const { events, type, sentAt: batchSentAt, context } = read;
  const decisions = events.map((fields, index) =>
    decideEvent({ fields, index, type, batchSentAt }, receipt),
  );
  const counter = new OutcomeCounter();
  const decided: DecidedEvents = {
    outcome: 'decided',
    received: events.length,
    // An array that grows has room for 17 events from the first one on; most requests have one.
    accepted: decisions.every(isAccepted) ? decisions : decisions.filter(isAccepted),
    rejected: [],
    warnings: [],
    counts: counter.counts,
  };
  for (const decision of decisions) record(decided, counter, { decision, read });
  const balance = balanceOf(context);
  return balance ? { ...decided, balance } : decided;
}

function isAccepted(decision: AcceptedEvent | RejectedEvent): decision is AcceptedEvent {
  return !('code' in decision);
}

function guarded<T>(decide: () => T): T | MalformedRequest {
  try {
    return decide();
  } catch (error) {
    if (error instanceof MalformedEnvelope) return { outcome: 'malformed', detail: error.message };
    throw error;
  }
}

interface Recorded {
  decision: AcceptedEvent | RejectedEvent;
  read: ReadEvents;
}

function record(
  decided: DecidedEvents,
  counter: OutcomeCounter,
  { decision, read }: Recorded,
): void {
  if (!isAccepted(decision)) {
    const { code, field, index } = decision;
    decided.rejected.push(decision);
    counter.add({ kind: 'reject', code, field, sdk: sdkAt(read, index) });
    return;
  }
  if (decision.warnings.length === 0) return;
  const sdk = sdkAt(read, decision.index);
  for (const warning of decision.warnings) {
    if (decided.warnings.length < MAX_LISTED_WARNINGS) decided.warnings.push(warning);
    counter.add({ kind: 'warn', code: warning.code, field: warning.field ?? '', sdk });
  }
}

function sdkAt({ contextOf, context }: ReadEvents, index: number): string {
  return sdkOf(contextOf(index) ?? context);
}

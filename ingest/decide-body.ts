import { reduceContext, sdkOf } from '../events/context.ts';
import { isJsonObject, parseJson, type JsonObject } from '../events/json.ts';
import type { QuotaVerdict } from '../events/quota.ts';
import { batchTooLarge, MAX_BATCH_ITEMS, rejection, type Rejection } from '../events/rejections.ts';
import {
  decideBatch,
  decideEvents,
  decideImport,
  decideSingle,
  type DecidedEvents,
} from '../events/validate.ts';
import type { EventType, OutcomeCount } from '../schemas/records.ts';
import { bodyParts, type BodyParts } from './client-body.ts';
import { sliceItems } from './slice-items.ts';
import { ITEMS_KEY, type BodyShape } from './body-roles.ts';
import { pruneBody } from './prune-body.ts';
import type { IngestFailure } from './result.ts';
import { parseSlice } from './scan-body.ts';
import { bodyScanner } from './wasm/body-scanner.ts';

/** A body with everything that its decision depends on: plain values, which a thread can get. */
export interface BodyToDecide {
  body: Buffer;
  /** `import`: POST /v1/events of the management host, a batch under `events`. */
  shape: BodyShape;
  /** Of a single event. */
  type: EventType;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** The account's ingest window, ms. */
  windowMs: number;
  quota: QuotaVerdict;
}

/** All events of the request are refused for one reason. */
export interface RefusedBody {
  outcome: 'refused';
  /** Events in it. */
  events: number;
  count: Omit<OutcomeCount, 'kind' | 'count'>;
  failure: IngestFailure;
}

/** Nothing of it refers to the parsed body. */
export type BodyDecision = { outcome: 'malformed' } | RefusedBody | DecidedEvents;

export interface DecidedBody {
  decision: BodyDecision;
  /** The bytes for the log; undefined: as sent. */
  body?: Buffer;
  /** Those of the bytes for the log, when they are known. */
  parts?: BodyParts;
}

/** Decides a body that is cheap to parse: see parse-cost.ts. */
export function decideBody(input: BodyToDecide): DecidedBody {
  return decideScanned(input) ?? { decision: decideParsed(parseJson(input.body), input) };
}

/** Decides a common body from its bytes, the same way; undefined for any other. */
function decideScanned(input: BodyToDecide): DecidedBody | undefined {
  const { body, shape, type, quota, receivedAt, windowMs } = input;
  if (shape === 'import' || quota !== 'open') return undefined;
  const scanned = bodyScanner().scan(body, shape);
  if (!scanned) return undefined;
  const { events, sentAt, context, slices } = scanned;
  const contextOf = (index: number) => {
    const slice = events[index]?.context;
    return slice && parseSlice(body, slice);
  };
  const isSingle = shape === 'single';
  const decision = decideEvents(
    { events, contextOf, type: isSingle ? type : undefined, sentAt, context },
    { now: receivedAt, windowMs },
  );
  return isSingle ? { decision } : { decision, parts: slices };
}

/** Bytes of nested values that a decision reads: enough for each that could be a phone number. */
const DECISION = { valueBytes: 1024, totalBytes: 1024 * 1024 };
/** What is stored of a value (ingest 2.3). */
const LOG = { valueBytes: 8192, totalBytes: Infinity };

/**
 * Decides a body that may be expensive to parse, the same way. Time is linear in its size, and
 * memory too, by a small factor: what no decision reads is checked but not made a value. Of nested
 * values the log gets what is stored of them.
 */
export function decideLargeBody(input: BodyToDecide): DecidedBody {
  const { body, shape } = input;
  const pruned = pruneBody({ body, shape, ...DECISION });
  if (!pruned) return { decision: { outcome: 'malformed' } };
  const parsed = parseJson(pruned.body);
  const decision = decideParsed(parsed, input, pruned.items);
  if (decision.outcome !== 'decided' || decision.accepted.length === 0) return { decision };
  const stored = pruneBody({ body, shape, ...LOG });
  const isPruned = stored?.isPruned === true;
  const logged = isPruned ? stored.body : body;
  const decided: DecidedBody = { decision };
  if (isPruned) decided.body = logged;
  if (shape === 'import') decided.parts = sliceItems(logged, 'events');
  else if (shape === 'batch' && decision.accepted.length > 1) {
    const { context } = parsed as JsonObject;
    decided.parts = bodyParts(logged, () => reduceContext(context));
  }
  return decided;
}

/** @param sent items of the batch, when `body` does not hold all of them */
function decideParsed(body: unknown, input: BodyToDecide, sent?: number): BodyDecision {
  const { shape, type, quota } = input;
  if (!isJsonObject(body)) return { outcome: 'malformed' };
  const refused = (
    count: Pick<OutcomeCount, 'code' | 'field'>,
    failure: IngestFailure,
  ): RefusedBody => ({
    outcome: 'refused',
    events: sentEvents(shape, body, sent),
    count: { ...count, sdk: sdkOf(body['context']) },
    failure,
  });
  if (shape === 'import') {
    const refusal = refuseImport(body, sent);
    if (refusal === 'malformed') return { outcome: 'malformed' };
    if (refusal) return refused(refusal, { code: 'rejected', message: refusal.reason });
  }
  if (quota !== 'open') return refused({ code: quota, field: '' }, { code: quota });
  const receipt = { now: input.receivedAt, windowMs: input.windowMs };
  const decided =
    shape === 'single'
      ? decideSingle({ body, type, ...receipt })
      : shape === 'batch'
        ? decideBatch({ body, sent, ...receipt })
        : decideImport({ items: body['events'] as unknown[], ...receipt });
  if (decided.outcome === 'malformed') return { outcome: 'malformed' };
  if (decided.outcome === 'decided') return decided;
  const { code, field, reason } = decided;
  return refused({ code, field }, { code: 'rejected', message: reason });
}

/** An import is refused for its shape before its account's quota is (management 7.2). */
function refuseImport(
  { events }: JsonObject,
  sent: number | undefined,
): Rejection | 'malformed' | undefined {
  const items = events ?? [];
  if (!Array.isArray(items)) return 'malformed';
  const count = sent ?? items.length;
  if (count === 0) return rejection('batch_empty', 'events');
  return count > MAX_BATCH_ITEMS ? batchTooLarge(count) : undefined;
}

/** Number of events in a refused body. */
function sentEvents(shape: BodyShape, body: JsonObject, sent?: number): number {
  if (shape === 'single') return 1;
  const items = body[ITEMS_KEY[shape]];
  return sent ?? (Array.isArray(items) ? items.length : 0);
}

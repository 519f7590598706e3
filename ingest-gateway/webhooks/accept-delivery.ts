import { ingestWindow } from '../../events/time.ts';
import { decideImport, type DecidedEvents } from '../../events/validate.ts';
import type { MappedEvent } from '../../events/webhooks/mapping.ts';
import type { Delivery } from '../../schemas/records.ts';
import type { AccountFacts } from '../../ingest/account.ts';
import type { BodyDecider } from '../../ingest/body-decider.ts';
import { ClientBody } from '../../ingest/client-body.ts';
import type { EventWriter } from '../../ingest/event-writer.ts';
import { jsonOf, type MappedBodies } from '../../ingest/map-body.ts';
import type { EventBytes } from '../../ingest/raw-records.ts';
import type { RequestFacts } from '../../ingest/request.ts';

/** The mapped events of one delivery. */
export interface MappedDelivery {
  accountId: number;
  /** 0: the events belong to no app. */
  appId: number;
  /** Without the token, which is a secret. */
  path: string;
  receivedAt: number;
  trace: string;
  events: readonly MappedEvent[] | MappedBodies;
  delivery: Delivery;
}

/** `published` excludes duplicates. `reason`: why the first event that was not accepted was not. */
export type DeliveryResult =
  | { outcome: 'accepted'; published: number; duplicates: number; reason: string | undefined }
  | { outcome: 'unavailable' };

export interface DeliveryPorts {
  writer: Pick<EventWriter, 'write'>;
  decider: Pick<BodyDecider, 'decide'>;
  account(id: number): AccountFacts | Promise<AccountFacts>;
  /** Random; for an event without a message id. */
  newDedupeId(): string;
}

/** Events that are claimed and published at once: as many as a batch holds (ingest 4.4). */
const MAX_CHUNK = 500;
const TOO_DEEP = 'nests too deeply';
const MALFORMED = 'an event is malformed';

/** The decided events of a chunk; undefined when they could not be decided. */
interface DecidedChunk {
  decided: DecidedEvents | { outcome: 'malformed'; detail: string } | undefined;
  bytes: EventBytes;
  /** The index of an event of the chunk among those of the delivery. */
  indexOf: (at: number) => number;
  /** Some of its events nest too deeply. */
  isTooDeep: boolean;
}

interface Receipt {
  accountId: number;
  now: number;
  windowMs: number;
}

/**
 * Makes the events of a delivery durable by the rules of the ingest host. No quota is checked
 * (ingest 4.6). When something is not durable the answer is 503 and the platform delivers again;
 * events that are durable by then are duplicates, or stored twice if they have no message id.
 * Never rejects, whatever a platform sends.
 */
export async function acceptDelivery(
  ports: DeliveryPorts,
  mapped: MappedDelivery,
): Promise<DeliveryResult> {
  const { accountId, appId, path, receivedAt, trace, events: sent } = mapped;
  const account = await ports.account(accountId);
  const windowMs = ingestWindow(account.retentionDays);
  // The caller is a backend: its address and User-Agent say nothing about the person.
  const request: RequestFacts = {
    ...{ source: 'webhook', path, shape: 'batch', receivedAt, trace },
    ...{ ip: '', userAgent: '', origin: '' },
    principal: { accountId, appId, writeKeyId: 0 },
  };
  const receipt = { accountId, now: receivedAt, windowMs };
  const chunks = 'outcome' in sent ? ofBodies(ports, sent, receipt) : ofEvents(sent, receipt);
  let [published, duplicates] = [0, 0];
  let reason: string | undefined = 'outcome' in sent && sent.tooDeep > 0 ? TOO_DEEP : undefined;
  for await (const { decided, bytes, indexOf, isTooDeep } of chunks) {
    if (isTooDeep) reason ??= TOO_DEEP;
    if (!decided) return { outcome: 'unavailable' };
    if (decided.outcome === 'malformed') {
      reason ??= decided.detail;
      continue;
    }
    const events = decided.accepted.map((event) => ({
      ...event,
      index: indexOf(event.index),
      ...(event.generated ? { dedupe_id: ports.newDedupeId() } : {}),
    }));
    // No message id is made here, so there is nothing to warn of.
    const counts = decided.counts.filter(({ code }) => code !== 'generated_message_id');
    const held = await ports.writer.write({
      ...{ request, events, bytes, decided: { ...decided, counts } },
      delivery: published === 0 ? mapped.delivery : null,
    });
    if (held === undefined) return { outcome: 'unavailable' };
    published += events.length - held;
    duplicates += held;
    reason ??= decided.rejected[0]?.reason;
  }
  return { outcome: 'accepted', published, duplicates, reason };
}

/** The chunks of events that were mapped at once. */
function* ofEvents(events: readonly MappedEvent[], receipt: Receipt): Generator<DecidedChunk> {
  const bytes = mappedBytes(events);
  for (let start = 0; start < events.length; start += MAX_CHUNK) {
    const end = Math.min(start + MAX_CHUNK, events.length);
    const positions = bytes.writable.filter((position) => position >= start && position < end);
    yield {
      decided: decideImport({ items: positions.map((position) => events[position]), ...receipt }),
      bytes,
      indexOf: (at) => positions[at] ?? at,
      isTooDeep: positions.length < end - start,
    };
  }
}

/** The chunks of events that were mapped in the thread, which also decides those that are dense. */
async function* ofBodies(
  { decider }: Pick<DeliveryPorts, 'decider'>,
  { bodies }: MappedBodies,
  { accountId, now, windowMs }: Receipt,
): AsyncGenerator<DecidedChunk> {
  let start = 0;
  for (const body of bodies) {
    const facts = { shape: 'import', type: 'track', quota: 'open' } as const;
    const decidedBody = await decider.decide(
      { body, ...facts, receivedAt: now, windowMs },
      accountId,
    );
    const first = start;
    const decision = decidedBody?.decision;
    const client = new ClientBody(decidedBody?.body ?? body, 'events', decidedBody?.parts);
    yield {
      decided:
        decision === undefined || decision.outcome === 'decided'
          ? decision
          : { outcome: 'malformed', detail: MALFORMED },
      bytes: {
        whole: undefined,
        batchOf: (indices, records) =>
          client.batchOf(
            indices.map((index) => index - first),
            records,
          ),
      },
      indexOf: (at) => first + at,
      isTooDeep: false,
    };
    start += MAX_CHUNK;
  }
}

/**
 * The mapped events as JSON: a replay reads the very events that were accepted, even after the
 * mapping has changed. `writable`: positions of the events that do not nest too deeply.
 */
function mappedBytes(events: readonly MappedEvent[]): EventBytes & { writable: number[] } {
  const json = events.map(jsonOf);
  return {
    whole: undefined,
    batchOf: (indices) =>
      Buffer.from(`{"batch":[${indices.map((index) => json[index] ?? '{}').join(',')}]}`),
    writable: [...json.keys()].filter((index) => json[index] !== undefined),
  };
}

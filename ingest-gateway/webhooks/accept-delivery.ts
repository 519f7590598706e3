import { ingestWindow } from '../../events/time.ts';
import { decideImport } from '../../events/validate.ts';
import type { MappedEvent } from '../../events/webhooks/mapping.ts';
import type { Delivery } from '../../schemas/records.ts';
import type { AccountFacts } from '../../ingest/account.ts';
import type { EventWriter } from '../../ingest/event-writer.ts';
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
  events: readonly MappedEvent[];
  delivery: Delivery;
}

/** `published` excludes duplicates. `reason`: why the first event that was not accepted was not. */
export type DeliveryResult =
  | { outcome: 'accepted'; published: number; duplicates: number; reason: string | undefined }
  | { outcome: 'unavailable' };

export interface DeliveryPorts {
  writer: Pick<EventWriter, 'write'>;
  account(id: number): AccountFacts | Promise<AccountFacts>;
  /** Random; for an event without a message id. */
  newDedupeId(): string;
}

/** Events that are claimed and published at once: as many as a batch holds (ingest 4.4). */
const MAX_CHUNK = 500;
const TOO_DEEP = 'nests too deeply';

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
  const { accountId, appId, path, receivedAt, trace } = mapped;
  const account = await ports.account(accountId);
  const receipt = { now: receivedAt, windowMs: ingestWindow(account.retentionDays) };
  // The caller is a backend: its address and User-Agent say nothing about the person.
  const request: RequestFacts = {
    ...{ source: 'webhook', path, shape: 'batch', receivedAt, trace },
    ...{ ip: '', userAgent: '', origin: '' },
    principal: { accountId, appId, writeKeyId: 0 },
  };
  const bytes = mappedBytes(mapped.events);
  let [published, duplicates] = [0, 0];
  let reason: string | undefined;
  for (let start = 0; start < mapped.events.length; start += MAX_CHUNK) {
    const end = Math.min(start + MAX_CHUNK, mapped.events.length);
    const positions = bytes.writable.filter((position) => position >= start && position < end);
    if (positions.length < end - start) reason ??= TOO_DEEP;
    const items = positions.map((position) => mapped.events[position]);
    const decided = decideImport({ items, ...receipt });
    if (decided.outcome === 'malformed') {
      reason ??= decided.detail;
      continue;
    }
    const events = decided.accepted.map((event) => ({
      ...event,
      index: positions[event.index] ?? event.index,
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

/** Undefined for an event that nests too deeply for JSON.stringify. */
function jsonOf(event: MappedEvent): string | undefined {
  try {
    return JSON.stringify(event);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

import { MAX_BATCH_ITEMS } from '../events/rejections.ts';
import { mapDelivery } from '../events/webhooks/map-delivery.ts';
import type { MappedEvent, Skipped } from '../events/webhooks/mapping.ts';
import type { WebhookSource } from '../events/webhooks/sources.ts';
import type { DeliveryHeaders } from '../events/webhooks/topic.ts';

/** A delivery of a platform: plain values, which a thread can get. */
export interface DeliveryToMap {
  source: WebhookSource;
  headers: DeliveryHeaders;
  body: Buffer;
}

/** The mapped events as bodies of imports: `{"events":[…]}` with at most 500 each. */
export interface MappedBodies {
  outcome: 'bodies';
  bodies: Buffer[];
  /** Events that nest too deeply for JSON.stringify; the bodies do not hold them. */
  tooDeep: number;
}

/** Maps a delivery that may be expensive to parse: each body can then be decided on its own. */
export function mapLargeDelivery({ source, headers, body }: DeliveryToMap): MappedBodies | Skipped {
  const mapping = mapDelivery({ source, headers, raw: body });
  if (mapping.outcome === 'skip') return mapping;
  const texts = mapping.events.map(jsonOf).filter((text) => text !== undefined);
  const bodies: Buffer[] = [];
  for (let start = 0; start < texts.length; start += MAX_BATCH_ITEMS) {
    const events = texts.slice(start, start + MAX_BATCH_ITEMS).join(',');
    bodies.push(Buffer.from(`{"events":[${events}]}`));
  }
  return { outcome: 'bodies', bodies, tooDeep: mapping.events.length - texts.length };
}

/** Undefined for an event that nests too deeply for JSON.stringify. */
export function jsonOf(event: MappedEvent): string | undefined {
  try {
    return JSON.stringify(event);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

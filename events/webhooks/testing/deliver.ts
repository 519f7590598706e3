import { expect } from 'vitest';
import { mapDelivery } from '../map-delivery.ts';
import type { MappedEvent, Mapping } from '../mapping.ts';
import type { WebhookSource } from '../sources.ts';

/** Maps a body, given as text or as a value, with these headers. */
export function deliver(
  source: WebhookSource,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Mapping {
  const raw = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return mapDelivery({ source, headers, raw });
}

/** The only event of a mapping. */
export function onlyEvent(mapping: Mapping): MappedEvent {
  if (mapping.outcome === 'skip') throw new Error(`skipped: ${mapping.reason}`);
  expect(mapping.events).toHaveLength(1);
  const [event] = mapping.events;
  if (!event) throw new Error('no event');
  return event;
}

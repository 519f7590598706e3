import type { EventType } from '../../schemas/records.ts';
import type { JsonObject } from '../json.ts';
import type { DeliveryHeaders } from './headers.ts';

/**
 * An event that a delivery becomes, in the shape of a batch item (ingest 2.1). An empty
 * `message_id` says that nothing about it can be de-duplicated; without `timestamp` it happened
 * when it was received.
 */
export interface MappedEvent {
  type: Exclude<EventType, 'alias'>;
  event?: string;
  user_id?: string;
  anonymous_id?: string;
  message_id: string;
  /** RFC 3339, UTC. */
  timestamp?: string;
  properties?: JsonObject;
  traits?: JsonObject;
  context?: JsonObject;
}

/** What a delivery becomes: at least one event, or the reason why there is none. */
export type Mapping =
  { readonly outcome: 'events'; readonly events: readonly MappedEvent[] } | Skipped;

export interface Skipped {
  readonly outcome: 'skip';
  /** For the connection's last_error. */
  readonly reason: string;
}

/** One source's rules. Total: whatever a JSON object holds, it answers. */
export type SourceMapping = (body: JsonObject, headers: DeliveryHeaders) => Mapping;

export function skip(reason: string): Skipped {
  return { outcome: 'skip', reason };
}

export function single(event: MappedEvent): Mapping {
  return { outcome: 'events', events: [event] };
}

/** A topic that the source does not map. */
export function unhandledTopic(topic: string): Skipped {
  return skip(`topic not handled: ${topic}`);
}

export const NO_IDENTITY: Skipped = skip('no identity');

/**
 * Without the entries whose value is undefined or an empty text: a property is there or it is not.
 */
export function present(entries: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    Object.entries(entries).filter(([, value]) => value !== undefined && value !== ''),
  );
}

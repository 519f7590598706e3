import type { EventType } from '../../schemas/records.ts';
import type { JsonObject } from '../json.ts';
import type { DeliveryHeaders } from './topic.ts';

/**
 * An event from a delivery, in the shape of a batch item (ingest 2.1). An empty `message_id`
 * disables deduplication; without `timestamp` the receive time counts.
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

/** The result of a delivery: at least one event, or the reason why there is none. */
export type Mapping =
  { readonly outcome: 'events'; readonly events: readonly MappedEvent[] } | Skipped;

export interface Skipped {
  readonly outcome: 'skip';
  /** For last_error of the connection. */
  readonly reason: string;
}

/** The rules of one source. Total: returns a result for every JSON object. */
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

/** Drops entries that are undefined or an empty text. */
export function present(entries: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    Object.entries(entries).filter(([, value]) => value !== undefined && value !== ''),
  );
}

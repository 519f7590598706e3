import type { EventType } from '../schemas/records.ts';
import { wellFormed } from './bytes.ts';
import { normalisePersian } from './persian.ts';

/** Longest event name in bytes, after normalisation (ingest 2.1). */
export const MAX_EVENT_BYTES = 128;
/** Longest user_id, anonymous_id and message_id in bytes (ingest 8). */
export const MAX_ID_BYTES = 256;

const DEFAULT_NAMES: Record<EventType, string> = {
  track: '',
  identify: 'identify',
  alias: 'alias',
  page: 'page_viewed',
  screen: 'screen_viewed',
};

/** The five event types (ingest 1). */
export const EVENT_TYPES = Object.keys(DEFAULT_NAMES) as readonly EventType[];

/** True for one of the five types, exactly as written. */
export function isEventType(value: unknown): value is EventType {
  return (
    value === 'track' ||
    value === 'identify' ||
    value === 'page' ||
    value === 'screen' ||
    value === 'alias'
  );
}

/** True for the types whose stored name is fixed, whatever was sent (ingest 4.3). */
export function hasFixedName(type: EventType): boolean {
  return type === 'identify' || type === 'alias';
}

/**
 * The name that an event of this type gets when it carries none (ingest 6.1); empty for track,
 * which must carry one.
 */
export function defaultEventName(type: EventType): string {
  return DEFAULT_NAMES[type];
}

/**
 * An event name as it is stored and compared: Persian-normalised, at most 128 bytes. Reports pass
 * the names of their steps through it.
 */
export function normaliseEventName(name: string): string {
  return normalisePersian(name, MAX_EVENT_BYTES);
}

/** The stored name of an accepted event. */
export function eventNameOf(type: EventType, sent: unknown): string {
  if (hasFixedName(type) || typeof sent !== 'string') return defaultEventName(type);
  return normaliseEventName(sent) || defaultEventName(type);
}

/** The text of an identifier as it is stored: as sent, well formed; empty when it is absent. */
export function idText(sent: unknown): string {
  return typeof sent === 'string' ? wellFormed(sent) : '';
}

/** The name of the person of an event: user_id, or else anonymous_id (reports.md, "People"). */
export function personName(event: { user_id: string; anonymous_id: string }): string {
  return event.user_id || event.anonymous_id;
}

const PLATFORM_EVENTS: ReadonlySet<string> = new Set([
  'message_sent',
  'message_failed',
  'message_withheld',
  'message_opened',
]);

/**
 * True for the events that the platform's own workers write into the stream (ingest 6.1).
 * message_clicked comes from the web SDK and is none of them.
 */
export function isPlatformEvent(event: string): boolean {
  return PLATFORM_EVENTS.has(event);
}

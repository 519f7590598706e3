import type { EventType } from '../schemas/records.ts';
import { wellFormed } from './bytes.ts';
import { normalisePersian } from './persian.ts';

/** Maximum length of an event name in bytes, after normalisation (ingest 2.1). */
export const MAX_EVENT_BYTES = 128;
/** Maximum length of user_id, anonymous_id and message_id in bytes (ingest 8). */
export const MAX_ID_BYTES = 256;

const DEFAULT_NAMES: Record<EventType, string> = {
  track: '',
  identify: 'identify',
  alias: 'alias',
  page: 'page_viewed',
  screen: 'screen_viewed',
};

/** The five event types (ingest 1). */

/** True for the five types; case-sensitive. */
export function isEventType(value: unknown): value is EventType {
  return (
    value === 'track' ||
    value === 'identify' ||
    value === 'page' ||
    value === 'screen' ||
    value === 'alias'
  );
}

/** True for the types whose stored event name is fixed, whatever the client sends (ingest 4.3). */
export function hasFixedName(type: EventType): boolean {
  return type === 'identify' || type === 'alias';
}

/** Event name of a type when none is sent (ingest 6.1); empty for track, which needs one. */
export function defaultEventName(type: EventType): string {
  return DEFAULT_NAMES[type];
}

/**
 * An event name as it is stored and compared: Persian-normalised, at most 128 bytes. Reports
 * normalise the names of their steps with it.
 */
export function normaliseEventName(name: string): string {
  return normalisePersian(name, MAX_EVENT_BYTES);
}

/** The stored name of an accepted event. */
export function eventNameOf(type: EventType, sent: unknown): string {
  if (hasFixedName(type) || typeof sent !== 'string') return defaultEventName(type);
  return normaliseEventName(sent) || defaultEventName(type);
}

/** An identifier as it is stored: as sent, well formed; empty when absent. */
export function idText(sent: unknown): string {
  return typeof sent === 'string' ? wellFormed(sent) : '';
}

/** The distinct id of an event's person: user_id, or else anonymous_id (reports: People). */
export function distinctIdOf(event: { user_id: string; anonymous_id: string }): string {
  return event.user_id || event.anonymous_id;
}

const PLATFORM_EVENTS: ReadonlySet<string> = new Set([
  'message_sent',
  'message_failed',
  'message_withheld',
  'message_opened',
]);

/**
 * True for events that the platform's own workers write (ingest 6.1). message_clicked is not one of
 * them: the web SDK sends it.
 */
export function isPlatformEvent(event: string): boolean {
  return PLATFORM_EVENTS.has(event);
}

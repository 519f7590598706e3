import { utf8Length } from '../bytes.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import { MAX_EVENT_BYTES, normaliseEventName } from '../event-name.ts';
import { parseFilters, type Filter } from './filter.ts';
import { InvalidRelay } from './filter.ts';

/** What a caller may set of a relay (ingest 2.8, 4.9: PUT relays). */
export interface RelayDefinition {
  /** The relay to change; absent: the one with this label, or a new one. */
  id?: number;
  name: string;
  /** As given. A bad URL is no validation error: its deliveries become dead (ingest 6.2). */
  url: string;
  /** Normalised event names without duplicates; empty: every event. */
  events: string[];
  filters: Filter[];
  enabled: boolean;
  /** Empty: keep the stored secret. */
  secret: string;
}

/**
 * Relays of an account. An account that has more keeps them, and changes or deletes them; each
 * event is matched with all of them.
 */
export const MAX_RELAYS = 20;

/** Sealing purpose of a relay's secret: it opens only for this relay of this account. */
export function relayPurpose({ accountId, id }: { accountId: number; id: number }): string {
  return `relay:${accountId}:${id}`;
}

export type ParsedRelay = { ok: true; relay: RelayDefinition } | { ok: false; message: string };

/** Bounds where the specification has none, so that a row stays readable. */
const MAX_BYTES = { name: 256, url: 2048, secret: 1024 } as const;
const MAX_EVENTS = 1000;

/**
 * Parses the body of PUT relays. Absent events and filters are empty, absent `enabled` is true, an
 * absent secret is kept. The error message is one sentence for the person who filled in the form
 * (answered with 400); it never contains the secret.
 */
export function parseRelay(body: unknown): ParsedRelay {
  try {
    if (!isJsonObject(body))
      throw new InvalidRelay(
        'the body must be a JSON object with name, url, events, filters, enabled and secret',
      );
    const id = idOf(body['id']);
    return {
      ok: true,
      relay: {
        ...(id === undefined ? {} : { id }),
        name: required(body, 'name'),
        url: required(body, 'url'),
        events: eventsOf(body['events'] ?? []),
        filters: parseFilters(body['filters'] ?? []),
        enabled: enabledOf(body['enabled'] ?? true),
        secret: secretOf(body['secret'] ?? ''),
      },
    };
  } catch (error) {
    if (error instanceof InvalidRelay) return { ok: false, message: error.message };
    throw error;
  }
}

function idOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidRelay('id must be the number of a relay, or be left out');
}

function required(body: JsonObject, field: 'name' | 'url'): string {
  const value = body[field] ?? '';
  if (typeof value !== 'string') throw new InvalidRelay(`${field} must be text`);
  const text = value.trim();
  if (text === '') throw new InvalidRelay(`${field} must not be empty`);
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed())
    throw new InvalidRelay(`${field} must not hold control characters`);
  if (utf8Length(text) > MAX_BYTES[field])
    throw new InvalidRelay(`${field} must have at most ${MAX_BYTES[field]} bytes`);
  return text;
}

function eventsOf(value: unknown): string[] {
  if (!Array.isArray(value))
    throw new InvalidRelay('events must be a list of event names; an empty list means every event');
  if (value.length > MAX_EVENTS)
    throw new InvalidRelay(
      `events must have at most ${MAX_EVENTS} names; an empty list means every event`,
    );
  return [...new Set(value.map((name: unknown, at) => eventName(name, at)))];
}

function eventName(value: unknown, at: number): string {
  if (typeof value !== 'string') throw new InvalidRelay(`events[${at}] must be text`);
  if (utf8Length(value.trim()) > MAX_EVENT_BYTES)
    throw new InvalidRelay(
      `events[${at}] is longer than ${MAX_EVENT_BYTES} bytes: no event has such a name`,
    );
  const name = normaliseEventName(value);
  if (name === '')
    throw new InvalidRelay(`events[${at}] must not be empty; leave the list empty for every event`);
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(name))
    throw new InvalidRelay(
      `events[${at}] must not hold control characters: no event has such a name`,
    );
  return name;
}

function enabledOf(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new InvalidRelay('enabled must be true or false');
  return value;
}

function secretOf(value: unknown): string {
  if (typeof value !== 'string')
    throw new InvalidRelay('secret must be text; leave it empty to keep the stored one');
  if (utf8Length(value) > MAX_BYTES.secret)
    throw new InvalidRelay(`secret must have at most ${MAX_BYTES.secret} bytes`);
  return value;
}

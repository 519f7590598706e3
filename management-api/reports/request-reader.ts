import { fitsBytes } from '../../events/bytes.ts';
import { normalisePersian } from '../../events/persian.ts';
import { reject } from './report-problem.ts';

export type JsonFields = Readonly<Record<string, unknown>>;

/**
 * Longest event name of a report in bytes, as sent (management 8.3). Longer than what ingest
 * stores: such a name is valid and matches nothing.
 */
const MAX_EVENT_BYTES = 256;

/** A JSON object at `path` of the request (empty for the body itself). */
export function readObject(value: unknown, path: string): JsonFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return reject('body', path === '' ? undefined : path);
  return value as JsonFields;
}

/** An optional list: absent and null are the empty one. */
export function readList(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : reject('body', path);
}

export function readFlag(value: unknown, path: string): boolean {
  if (value === undefined || value === null) return false;
  return typeof value === 'boolean' ? value : reject('body', path);
}

/** One of the named choices, or the first of them when absent. */
export function readChoice<const T extends readonly [string, ...string[]]>(
  value: unknown,
  choices: T,
  path: string,
): T[number] {
  if (value === undefined || value === null) return choices[0];
  return choices.find((choice) => choice === value) ?? reject('option', path);
}

/** A whole number, or undefined when absent. */
export function readWhole(value: unknown, path: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : reject('option', path);
}

export interface EventName {
  /** As the request wrote it; answers repeat it. */
  label: string;
  /** As events are stored under it (ingest 2.3). */
  event: string;
}

/**
 * An event name, normalised as ingest does it before it is compared. Not cut to the length that
 * ingest stores, so that a longer one matches nothing.
 */
export function readEventName(value: unknown, path: string): EventName {
  if (value === undefined || value === null) return reject('event_missing', path);
  if (typeof value !== 'string') return reject('body', path);
  if (!fitsBytes(value, MAX_EVENT_BYTES)) return reject('event_too_long');
  const event = normalisePersian(value, 2 * MAX_EVENT_BYTES);
  return event === '' ? reject('event_missing', path) : { label: value, event };
}

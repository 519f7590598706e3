import type { Accrual } from '../../events/accrual.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { EventRow } from '../../schemas/records.ts';
import { POSITION_FIELDS } from '../../schemas/row-reader.ts';
import type { PackedWrites } from './writes.ts';

/** Fold of a distinct id's events up to `last`; times are ms since the epoch. */
export interface Profile {
  accountId: number;
  distinctId: string;
  /** The distinct id, when some event had it as its user_id; otherwise empty. */
  userId: string;
  /** The last anonymous_id of an event; empty when there is none. */
  anonymousId: string;
  /** Position of the last event folded in. */
  last: LogPosition;
  /** Events folded in: of two states of a distinct id the one with more is the later one. */
  eventCount: number;
  firstSeen: number;
  lastSeen: number;
  accrual: Accrual;
  writes: PackedWrites;
}

/**
 * A row as a string of one character per byte: the form of a cached profile. It is one object
 * without references, so a million of them cost the garbage collector a fraction of what a million
 * profiles do (docs/performance.md).
 */
export type PackedProfile = string;

/** The fields of event-row that the fold reads. Values are normalised (ingest 2.3). */
export const PROFILE_EVENT_FIELDS = [
  ...POSITION_FIELDS,
  ...(['account_id', 'event', 'user_id', 'anonymous_id', 'timestamp', 'received_at'] as const),
  ...(['revenue', 'traits', 'trait_numbers', 'profile'] as const),
] as const;
export type ProfileEvent = Pick<EventRow, (typeof PROFILE_EVENT_FIELDS)[number]>;

/** Key of a profile in maps. */
export function profileKey(accountId: number, distinctId: string): string {
  return `${accountId}\u0000${distinctId}`;
}

import type { Accrual } from '../../events/accrual.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { PackedWrites } from './writes.ts';

/**
 * The state of a distinct id: the fold of its events up to `last`, in the order of their positions.
 * Times are ms since the epoch.
 */
export interface Profile {
  accountId: number;
  distinctId: string;
  /** The distinct id, when some event carried it as its user_id; otherwise empty. */
  userId: string;
  /** The last anonymous_id that an event carried; empty when none did. */
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

/** The fields of event-row that the fold reads. Values are normalised (ingest 2.3). */
export interface ProfileEvent {
  _epoch: number;
  _partition: number;
  _offset: number;
  _index: number;
  account_id: number;
  event: string;
  user_id: string;
  anonymous_id: string;
  timestamp: number;
  received_at: number;
  revenue: number;
  traits: Record<string, string>;
  trait_numbers: Record<string, number>;
  profile: Record<string, string>;
}

/** Key of a profile in maps. */
export function profileKey(accountId: number, distinctId: string): string {
  return `${accountId}\u0000${distinctId}`;
}

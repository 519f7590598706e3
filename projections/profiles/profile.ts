import type { Accrual } from '../../events/accrual.ts';
import type { PartitionPosition } from '../../schemas/log-position.ts';
import type { PackedWrites } from './writes.ts';

/** The place of the last event folded in. */
export interface LastPlace extends PartitionPosition {
  partition: number;
}

/**
 * The state of a name: the fold of its events up to `last`, in the order of their places. Times are
 * ms since the epoch.
 */
export interface Profile {
  accountId: number;
  name: string;
  /** The name, when some event carried it as its user_id; otherwise empty. */
  userId: string;
  /** The anonymous_id that an event carried last; empty when none did. */
  anonymousId: string;
  last: LastPlace;
  /** Events folded in: of two states of a name the one with more is the later one. */
  eventCount: number;
  firstSeen: number;
  lastSeen: number;
  accrual: Accrual;
  writes: PackedWrites;
}

/**
 * What the fold looks at of an event; field names as in event-row. Values are normalised (ingest
 * 2.3).
 */
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

/** Names a profile in maps. */
export function profileKey(accountId: number, name: string): string {
  return `${accountId}\u0000${name}`;
}

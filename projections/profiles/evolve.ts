import { accrue, NO_ACCRUAL } from '../../events/accrual.ts';
import { distinctIdOf } from '../../events/event-name.ts';
import type { Profile, ProfileEvent } from './profile.ts';
import { compareWriteOrder } from '../../events/write-order.ts';
import { maxTraitBytes, TRAIT_LIMITS, TraitRoom, type TraitLimits } from './trait-limits.ts';
import { NO_WRITES, packWrites, unpackWrites, type PackedWrites } from './writes.ts';

/**
 * An event came through another partition than the previous events of its distinct id: their order
 * is unknown, and two workers may hold the profile.
 */
export class MisplacedEvent extends Error {
  constructor(event: ProfileEvent, expected: number) {
    super(
      `The event at (${event._epoch}, ${event._partition}, ${event._offset}, ${event._index}) of account ${event.account_id} came through the wrong partition: earlier events of its distinct id are in partition ${expected}. ` +
        'Every producer must compute the partition with events/partition.ts and the partition count of the topic. Then rebuild the profiles.',
    );
    this.name = 'MisplacedEvent';
  }
}

/** Whether the profile includes the event already. Throws MisplacedEvent. */
export function isFoldedIn(profile: Profile | undefined, event: ProfileEvent): boolean {
  if (!profile) return false;
  const { last } = profile;
  if (event._epoch === last.epoch && event._partition !== last.partition)
    throw new MisplacedEvent(event, last.partition);
  return (
    (event._epoch - last.epoch || event._offset - last.offset || event._index - last.index) <= 0
  );
}

/**
 * The profile after one more event of its distinct id, in the order of log positions (ingest 2.3)
 * (reports: People). Of two writes of a trait or column the one received later wins, then the one
 * with the higher position; a write replaces both text and number. Events of every type count, also
 * of bots. Traits that exceed the limits of a profile are dropped and counted. The caller skips
 * events that isFoldedIn.
 */
export function evolve(
  before: Profile | undefined,
  event: ProfileEvent,
  { limits = TRAIT_LIMITS, onDropped }: EvolveOptions = {},
): Profile {
  const { event: name, revenue, timestamp, account_id: accountId } = event;
  return {
    accountId,
    distinctId: before?.distinctId ?? distinctIdOf(event),
    userId: event.user_id || (before?.userId ?? ''),
    anonymousId: event.anonymous_id || (before?.anonymousId ?? ''),
    last: {
      epoch: event._epoch,
      partition: event._partition,
      offset: event._offset,
      index: event._index,
    },
    eventCount: (before?.eventCount ?? 0) + 1,
    firstSeen: before ? Math.min(before.firstSeen, timestamp) : timestamp,
    lastSeen: before ? Math.max(before.lastSeen, timestamp) : timestamp,
    accrual: accrue(before?.accrual ?? NO_ACCRUAL, { event: name, revenue, timestamp }),
    writes: applyWrites(before?.writes ?? NO_WRITES, event, { limits, onDropped }),
  };
}

export interface EvolveOptions {
  limits?: TraitLimits;
  /** Called for each trait that was dropped because of the limits. */
  onDropped?: (() => void) | undefined;
}

function applyWrites(
  before: PackedWrites,
  event: ProfileEvent,
  { limits, onDropped }: EvolveOptions & { limits: TraitLimits },
): PackedWrites {
  if (isEmpty(event.profile) && isEmpty(event.traits)) return before;
  const columns = Object.keys(event.profile);
  const traits = Object.keys(event.traits);
  const {
    _epoch: epoch,
    _partition: partition,
    _offset: offset,
    _index: index,
    received_at: receivedAt,
  } = event;
  const order = { receivedAt, epoch, partition, offset, index };
  const after = unpackWrites(before);
  for (const key of columns) {
    const old = after.get(key);
    if (!old || compareWriteOrder(old.order, order) < 0)
      after.set(key, { text: event.profile[key] ?? '', number: undefined, order });
  }
  // packed writes are larger than the traits in them: most profiles have room without counting
  const isNearLimit =
    after.size + traits.length > limits.traits ||
    before.length + maxTraitBytes(event.traits) > limits.bytes;
  const room = isNearLimit ? new TraitRoom(after, limits) : undefined;
  // which trait gets the last room must not depend on how the event was decoded
  if (room) traits.sort();
  for (const key of traits) {
    const text = event.traits[key] ?? '';
    const old = after.get(key);
    if (old && compareWriteOrder(old.order, order) >= 0) continue;
    if (room && !room.admit(key, text, old?.text)) {
      onDropped?.();
      continue;
    }
    const number = Object.hasOwn(event.trait_numbers, key) ? event.trait_numbers[key] : undefined;
    after.set(key, { text, number, order });
  }
  return packWrites(after);
}

function isEmpty(map: Readonly<Record<string, string>>): boolean {
  return Object.keys(map).length === 0;
}

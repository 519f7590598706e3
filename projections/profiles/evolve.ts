import { accrue, NO_ACCRUAL } from '../../events/accrual.ts';
import { distinctIdOf } from '../../events/event-name.ts';
import type { Profile, ProfileEvent } from './profile.ts';
import { compareWriteOrder } from '../../events/write-order.ts';
import { NO_WRITES, packWrites, unpackWrites, type PackedWrites } from './writes.ts';

/**
 * Most traits of one name: a key past it is not taken up any more, those that are there go on
 * changing. Clients that make keys up would otherwise grow a row for ever.
 */
export const MAX_TRAITS = 4096;

/**
 * An event of a name came through another partition than the ones before it: their order is
 * unknown, and two workers may hold the name.
 */
export class MisplacedEvent extends Error {
  constructor(event: ProfileEvent, expected: number) {
    super(
      `place (${event._epoch}, ${event._partition}, ${event._offset}, ${event._index}) of account ${event.account_id}: events of this name came through partition ${expected} before. ` +
        'Every producer must take the partition from events/partition.ts and the partition count of the topic; then rebuild the profiles',
    );
    this.name = 'MisplacedEvent';
  }
}

/** Whether the event is in the profile already. Throws MisplacedEvent. */
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
 * The profile of a name after one more of its events, in the order of their places (ingest 2.3,
 * "Profile accrual"; reports.md, "People"). Of two writes of a trait or column the one received
 * later stands, then the one with the higher place; a write takes the place of the older one's text
 * and number. Any type and any event counts, bots too. The caller skips what isFoldedIn.
 */
export function evolve(before: Profile | undefined, event: ProfileEvent): Profile {
  const { event: name, revenue, timestamp, account_id: accountId } = event;
  return {
    accountId,
    name: before?.name ?? distinctIdOf(event),
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
    writes: written(before?.writes ?? NO_WRITES, event),
  };
}

function written(before: PackedWrites, event: ProfileEvent): PackedWrites {
  const columns = Object.keys(event.profile);
  const traits = Object.keys(event.traits);
  if (columns.length === 0 && traits.length === 0) return before;
  const {
    _epoch: epoch,
    _partition: partition,
    _offset: offset,
    _index: index,
    received_at: receivedAt,
  } = event;
  const stamp = { receivedAt, epoch, partition, offset, index };
  const after = unpackWrites(before);
  const write = (key: string, text: string, number: number | undefined) => {
    const old = after.get(key);
    if (old ? compareWriteOrder(old.stamp, stamp) < 0 : after.size < MAX_TRAITS)
      after.set(key, { text, number, stamp });
  };
  for (const key of columns) write(key, event.profile[key] ?? '', undefined);
  for (const key of traits)
    write(
      key,
      event.traits[key] ?? '',
      Object.hasOwn(event.trait_numbers, key) ? event.trait_numbers[key] : undefined,
    );
  return packWrites(after);
}

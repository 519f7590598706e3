import { count } from './books.ts';
import {
  ATTEMPT_DIGITS,
  CALL_DIGITS,
  CHECK_EVERY,
  MAX_WAITING,
  NEVER,
  REPEATABLE_MS,
} from './limits.ts';
import { emit } from './listeners.ts';
import * as storage from './storage.ts';
import { EVENT } from './storage-keys.ts';

/**
 * Events that wait for an answer, one entry of the storage for each: no page ever writes what
 * another one wrote. The key of an event is the identifier of its call and its message id; the
 * value the time of the first attempt to send it (NEVER: none) and the item of the batch.
 */

let pushed = 0;

/** The keys of what waits, in the order of the calls. */
export const waiting = (): string[] => storage.keys(EVENT);

/**
 * @param call of `idAt`: its order is that of the calls
 * @returns whether the event is stored; it is in memory otherwise
 */
export function push(call: string, id: string, item: object): boolean {
  const isStored = storage.set(EVENT + call + id, NEVER + JSON.stringify(item));
  count({ made: 1, stored: +isStored });
  // To list what waits takes long where much does.
  if (!(pushed++ % CHECK_EVERY)) drop(waiting().slice(0, -MAX_WAITING), 'full');
  return isStored;
}

/**
 * The keys of the oldest events, to send them: at most `max` of them and `maxBytes`. It is durably
 * noted that the host may know them from now on.
 */
export function take(max: number, maxBytes: number): string[] {
  const found: string[] = [];
  const now = Date.now();
  for (const key of waiting()) {
    const value = storage.get(key) as string;
    const attemptedAt = +value.slice(0, ATTEMPT_DIGITS);
    if (attemptedAt && attemptedAt < now - REPEATABLE_MS) drop([key], 'unknown');
    else {
      maxBytes -= new Blob([value]).size;
      if (maxBytes < 0 || found.length === max) break;
      if (!attemptedAt)
        storage.set(key, `${now}`.padStart(ATTEMPT_DIGITS) + value.slice(ATTEMPT_DIGITS));
      found.push(key);
    }
  }
  return found;
}

/** The item of the batch; the host refuses one that is damaged. */
export const itemOf = (key: string): object =>
  storage.parse((storage.get(key) as string).slice(ATTEMPT_DIGITS));

/** @returns the message ids of those that no other page has ended */
export function end(some: string[], counter: string): string[] {
  const ended = some.filter(storage.get);
  // What a page that is killed here has counted is sent and counted again: missing is worse.
  if (ended[0]) count({ [counter]: ended.length });
  ended.forEach(storage.remove);
  return ended.map((key) => key.slice(CALL_DIGITS));
}

/** Ends events that will never be sent. What follows the first word of a reason is of one event. */
export function drop(some: string[], reason: string): void {
  const ids = end(some, reason.split(/\W/)[0] as string);
  if (ids[0]) emit('rejected', { ids, reason });
}

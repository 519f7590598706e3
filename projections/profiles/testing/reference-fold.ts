import { isProfileColumn } from '../../../events/traits.ts';
import type { ProfileEvent } from '../profile.ts';

/** A profile in the terms of the specification; amounts are whole thousandths. */
export interface SpecifiedProfile {
  event_count: number;
  first_seen: number;
  last_seen: number;
  total_revenue: bigint;
  order_count: number;
  last_order_at: number | null;
  columns: Record<string, string>;
  traits: Record<string, string>;
  trait_numbers: Record<string, number>;
}

const rank = (event: ProfileEvent) => [event._epoch, event._partition, event._offset, event._index];
const recency = (event: ProfileEvent) => [event.received_at, ...rank(event)];

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/**
 * The profiles of a set of events, written from the words of (ingest 2.3) and (reports: People)
 * without code of the fold. Slow: only for tests. Events may come in any order and repeatedly.
 * Keys: `account/distinct id`.
 * @param limits of the free traits of a profile: their number, and bytes of their keys and texts
 */
export function specifiedProfiles(
  events: readonly ProfileEvent[],
  limits: Limits = { traits: 1000, bytes: 131_072 },
): Map<string, SpecifiedProfile> {
  const once = [...new Map(events.map((event) => [rank(event).join(), event])).values()].sort(
    (a, b) => compare(rank(a), rank(b)),
  );
  const byPerson = Map.groupBy(
    once,
    (event) => `${event.account_id}/${event.user_id === '' ? event.anonymous_id : event.user_id}`,
  );
  return new Map([...byPerson].map(([key, own]) => [key, specified(own, limits)]));
}

interface Limits {
  traits: number;
  bytes: number;
}

/** @param events of one distinct id, in the order of their positions */
function specified(events: readonly ProfileEvent[], limits: Limits): SpecifiedProfile {
  const orders = events.filter(({ event }) => event === 'order_completed');
  return {
    event_count: events.length,
    first_seen: Math.min(...events.map(({ timestamp }) => timestamp)),
    last_seen: Math.max(...events.map(({ timestamp }) => timestamp)),
    ...totals(events),
    last_order_at:
      orders.length === 0 ? null : Math.max(...orders.map(({ timestamp }) => timestamp)),
    ...newestWrites(events, limits),
  };
}

function totals(events: readonly ProfileEvent[]): { total_revenue: bigint; order_count: number } {
  let total_revenue = 0n;
  let order_count = 0;
  for (const { event, revenue } of events) {
    const amount = thousandths(revenue);
    if (event === 'order_completed') order_count += 1;
    if (event === 'order_refunded' || event === 'order_cancelled') {
      const rest = total_revenue - (amount < 0n ? -amount : amount);
      total_revenue = rest > 0n ? rest : 0n;
      order_count = Math.max(0, order_count - 1);
    } else total_revenue += amount;
  }
  return { total_revenue, order_count };
}

/** Amounts in tests have at most three decimals and stay below 2^43. */
function thousandths(amount: number): bigint {
  return BigInt(Math.round(amount * 1000));
}

/**
 * The newest write of each key. A write of a free trait happens only if the profile has room for it
 * at its position: then it makes no trait too many, and either leaves the bytes within the limit or
 * does not add any.
 */
function newestWrites(
  events: readonly ProfileEvent[],
  limits: Limits,
): Pick<SpecifiedProfile, 'columns' | 'traits' | 'trait_numbers'> {
  const written = new Map<string, ProfileEvent>();
  const textOf = (event: ProfileEvent, key: string) =>
    (isProfileColumn(key) ? event.profile[key] : event.traits[key]) ?? '';
  const sizeOf = (writes: ReadonlyMap<string, ProfileEvent>) => {
    const free = [...writes].filter(([key]) => !isProfileColumn(key));
    const bytes = free.map(([key, event]) => Buffer.byteLength(key + textOf(event, key)));
    return { traits: free.length, bytes: bytes.reduce((sum, one) => sum + one, 0) };
  };
  for (const event of events) {
    const keys = [...Object.keys(event.profile).filter(isProfileColumn)];
    for (const key of [...keys, ...Object.keys(event.traits).sort()]) {
      const old = written.get(key);
      if (old && compare(recency(old), recency(event)) >= 0) continue;
      const next = new Map(written).set(key, event);
      const [before, after] = [sizeOf(written), sizeOf(next)];
      const isTooMany = after.traits > before.traits && after.traits > limits.traits;
      const isTooLarge = after.bytes > before.bytes && after.bytes > limits.bytes;
      if (!isTooMany && !isTooLarge) written.set(key, event);
    }
  }
  const result = {
    columns: {} as Record<string, string>,
    traits: {} as Record<string, string>,
    trait_numbers: {} as Record<string, number>,
  };
  for (const [key, event] of written) {
    (isProfileColumn(key) ? result.columns : result.traits)[key] = textOf(event, key);
    const number = isProfileColumn(key) ? undefined : event.trait_numbers[key];
    if (number !== undefined) result.trait_numbers[key] = number;
  }
  return result;
}

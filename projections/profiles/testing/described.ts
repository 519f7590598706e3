import { isProfileColumn } from '../../../events/traits.ts';
import type { Profile } from '../profile.ts';
import type { SpecifiedProfile } from './reference-fold.ts';
import { unpackWrites } from '../writes.ts';

/** A profile in the terms of the specification, for comparison. */
export function described({
  eventCount,
  firstSeen,
  lastSeen,
  accrual,
  writes: packed,
}: Profile): SpecifiedProfile {
  const writes = unpackWrites(packed);
  const of = (wanted: (key: string) => boolean) => [...writes].filter(([key]) => wanted(key));
  const texts = (wanted: (key: string) => boolean) =>
    Object.fromEntries(of(wanted).map(([key, { text }]) => [key, text]));
  const isTrait = (key: string) => !isProfileColumn(key);
  return {
    event_count: eventCount,
    first_seen: firstSeen,
    last_seen: lastSeen,
    total_revenue: accrual.totalRevenue,
    order_count: accrual.orderCount,
    last_order_at: accrual.lastOrderAt ?? null,
    columns: texts(isProfileColumn),
    traits: texts(isTrait),
    trait_numbers: Object.fromEntries(
      of(isTrait).flatMap(([key, { number }]): [string, number][] =>
        number === undefined ? [] : [[key, number]],
      ),
    ),
  };
}

import fc from 'fast-check';
import type { ProfileEvent } from '../profile.ts';

// Few distinct ids, keys and times, so that orders, refunds, ties and overwrites coincide.
const text = fc.constantFrom('', 'x', 'y', 'تهران', '5');
const trait = fc.oneof(
  text.map((value) => ({ text: value })),
  fc.constantFrom(0, 1, 2.5, -3).map((number) => ({ text: String(number), number })),
);

const body = fc.record({
  account_id: fc.constantFrom(1, 2),
  event: fc.constantFrom(
    'order_completed',
    'order_completed',
    'order_refunded',
    'order_cancelled',
    'product_viewed',
    'identify',
    'alias',
  ),
  user_id: fc.constantFrom('u1', 'u2', 'نام', ''),
  anonymous_id: fc.constantFrom('a1', 'u1', 'a2'),
  timestamp: fc.constantFrom(1_790_000_000_000, 1_790_000_000_001, 1_780_000_000_000, 0),
  received_at: fc.constantFrom(1_790_000_000_000, 1_790_000_000_001, 1_790_000_000_002),
  revenue: fc.constantFrom(0, 0, 1000, 250.5, -40, 0.001, 12_345.678),
  given: fc.dictionary(fc.constantFrom('plan', 'level', 'کلید'), trait, { maxKeys: 2 }),
  profile: fc.dictionary(fc.constantFrom('email', 'city', 'push_opt_in'), text, { maxKeys: 2 }),
  items: fc.integer({ min: 1, max: 3 }),
});

/** The events of one partition in the order of their positions; offsets rise by one. */
export function arbitraryEvents(options: {
  partition?: number;
  maxLength: number;
}): fc.Arbitrary<ProfileEvent[]> {
  return fc.array(body, { maxLength: options.maxLength, size: 'max' }).map((bodies) => {
    let offset = 0;
    let index = -1;
    return bodies.map(({ given, items, ...event }) => {
      if (++index >= items) [offset, index] = [offset + 1, 0];
      const entries = Object.entries(given);
      const numbers = entries.flatMap(([key, value]): [string, number][] =>
        'number' in value ? [[key, value.number]] : [],
      );
      return {
        ...event,
        traits: Object.fromEntries(
          entries.map(([key, value]): [string, string] => [key, value.text]),
        ),
        trait_numbers: Object.fromEntries(numbers),
        ...{ _epoch: 0, _partition: options.partition ?? 0, _offset: offset, _index: index },
      };
    });
  });
}

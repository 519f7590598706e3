import fc from 'fast-check';
import type { PersonRow } from '../../../audiences/testing/model.ts';
import type { EventRow } from '../../../schemas/records.ts';
import { storedEvent } from '../reports/arbitraries.ts';
import type { Account } from './people-warehouse.ts';

const DAY = 86_400_000;
/** 03:00 in Tehran, so that days there and in UTC differ. */
export const NOW = Date.UTC(2026, 8, 20, 23, 30);

const ages = fc.constantFrom(
  0,
  1,
  DAY / 8,
  DAY,
  7 * DAY,
  7 * DAY + 1,
  14 * DAY,
  30 * DAY,
  30 * DAY + 1,
  60 * DAY,
  90 * DAY,
  91 * DAY,
  -DAY / 24,
);
const texts = fc.constantFrom('', 'x', 'y', 'xy', 'تهران', '2', 'true');

const property = fc.constantFrom<{ text?: string; number?: number }>(
  {},
  { text: 'x' },
  { text: '' },
  { text: '2' },
  { text: '2', number: 2 },
  { text: 'true', number: 1 },
);

function event(names: readonly string[]): fc.Arbitrary<EventRow> {
  return fc
    .record({
      event: fc.constantFrom(
        'a',
        'b',
        'order_completed',
        'order_completed',
        'order_refunded',
        'message_sent',
      ),
      name: fc.constantFrom(...names),
      age: ages,
      p: property,
      revenue: fc.constantFrom(0, 0, 10, 5, -3),
      session_id: fc.constantFrom('', 's', 't'),
      is_bot: fc.integer({ min: 0, max: 7 }).map((draw) => draw === 0),
    })
    .map(({ name, age, p, ...columns }) =>
      storedEvent({
        ...columns,
        user_id: name,
        timestamp: NOW - age,
        received_at: NOW,
        properties: p.text === undefined ? {} : { p: p.text },
        property_numbers: p.number === undefined ? {} : { p: p.number },
      }),
    );
}

const birthdays = fc.constantFrom(
  '',
  '1990-09-21',
  '1990-09-20',
  '2000-02-29',
  '1999-02-30',
  '1370-01-05',
  '1990-09-22T00:00:00Z',
  'soon',
  '1990-12-31',
  '1991-01-01',
);

const person: fc.Arbitrary<PersonRow> = fc
  .record({
    seen: fc.tuple(ages, ages),
    order: fc.option(ages, { nil: undefined }),
    revenue: fc.nat(3),
    orders: fc.nat(3),
    t: property,
    city: texts,
    birthday: birthdays,
    opted: fc.constantFrom('', 'true', 'false'),
  })
  .map(({ seen, order, revenue, orders, t, city, birthday, opted }) => ({
    first_seen: NOW - Math.max(...seen),
    last_seen: NOW - Math.min(...seen),
    total_revenue: revenue / 2,
    order_count: orders,
    last_order_at: order === undefined ? undefined : NOW - order,
    traits: t.text === undefined ? {} : { t: t.text },
    trait_numbers: t.number === undefined ? {} : { t: t.number },
    columns: { city, birthday, push_opt_in: opted },
  }));

export const account: fc.Arbitrary<Account> = fc
  .record({
    rows: fc.array(person, { minLength: 1, maxLength: 5 }),
    events: fc.array(event(['u0', 'u1', 'u2', 'u3', 'u4', 'v0', 'v1']), {
      maxLength: 25,
      size: 'max',
    }),
    devices: fc.array(
      fc.record({ name: fc.constantFrom('u0', 'u1', 'u2', 'v0', 'v1'), active: fc.boolean() }),
      { maxLength: 3 },
    ),
    isMerged: fc.boolean(),
  })
  .map(({ rows, events, devices, isMerged }) => ({
    devices,
    people: new Map(rows.map((row, at) => [`u${at}`, row])),
    canonical: isMerged
      ? new Map([
          ['v0', 'u0'],
          ['v1', 'u1'],
        ])
      : new Map<string, string>(),
    events: events.map((one, at) => ({ ...one, message_id: `m${at}`, _offset: at })),
  }));

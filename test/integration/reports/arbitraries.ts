import fc from 'fast-check';
import type { PersonTraits } from '../../../audiences/conditions/predicate.ts';
import type { Dataset } from '../../../account-api/reports/testing/dataset.ts';
import type { EventRow } from '../../../schemas/records.ts';

/**
 * Where the small datasets of these tests lie: a minute of a day. Few instants, few names, few
 * values: ties and repeats are the rule.
 */
export const EPOCH = Date.UTC(2026, 8, 20, 9, 0, 0);

const NO_EVENT: EventRow = {
  ...{
    _epoch: 0,
    _partition: 0,
    _offset: 0,
    _index: 0,
    _acceptance: 0,
    _dedupe_id: '',
    _trace: '',
    account_id: 0,
    app_id: 1,
    type: 'track',
    event: '',
  },
  ...{
    user_id: '',
    anonymous_id: '',
    previous_id: '',
    message_id: '',
    timestamp: 0,
    received_at: 0,
    properties: {},
    property_numbers: {},
  },
  ...{
    revenue: 0,
    currency: '',
    source: 'sdk',
    ip: '',
    user_agent: '',
    is_bot: false,
    browser_name: '',
    browser_version: '',
  },
  ...{
    library_name: '',
    library_version: '',
    app_version: '',
    device_type: '',
    device_model: '',
    device_vendor: '',
    push_provider: '',
  },
  ...{
    os_name: '',
    os_version: '',
    carrier: '',
    page_url: '',
    page_path: '',
    page_referrer: '',
    page_title: '',
  },
  ...{
    utm_source: '',
    utm_medium: '',
    utm_campaign: '',
    utm_term: '',
    utm_content: '',
    campaign_id: 0,
    journey_id: 0,
    variant_id: '',
  },
  ...{
    source_message_id: '',
    sg_t: '',
    locale: '',
    timezone: '',
    session_id: '',
    country: '',
    region: '',
    city: '',
  },
  ...{ traits: {}, trait_numbers: {}, profile: {} },
};

export type Stored = Partial<EventRow>;

/** An event with defaults for all that a test does not care about. */
export function storedEvent(event: Stored): EventRow {
  return { ...NO_EVENT, ...event };
}

/** Stored forms of property values as ingest 2.3 writes them. */
const property = fc.constantFrom<{ text?: string; number?: number }>(
  {},
  { text: 'x' },
  { text: 'y' },
  { text: 'xy' },
  { text: 'x=y' },
  { text: '' },
  { text: '2' },
  { text: '1', number: 1 },
  { text: '2', number: 2 },
  { text: '2.5', number: 2.5 },
  { text: 'true', number: 1 },
);

export interface EventShape {
  names: readonly string[];
  /** Offsets from EPOCH in milliseconds. */
  times: fc.Arbitrary<number>;
  people: number;
}

function eventOf({ names, times, people }: EventShape): fc.Arbitrary<Stored> {
  return fc
    .record({
      event: fc.constantFrom(...names),
      type: fc.constantFrom('track', 'track', 'track', 'page', 'identify'),
      person: fc.nat({ max: people - 1 }),
      isKnown: fc.boolean(),
      at: times,
      received: fc.nat({ max: 1 }),
      _partition: fc.nat({ max: 1 }),
      _index: fc.nat({ max: 1 }),
      is_bot: fc.integer({ min: 0, max: 9 }).map((draw) => draw === 0),
      city: fc.constantFrom('', 'تهران', 'شیراز'),
      campaign_id: fc.constantFrom(0, 0, 5, 7),
      p: property,
      q: property,
    })
    .map(({ person, isKnown, at, received, p, q, ...event }) => ({
      ...event,
      ...(isKnown
        ? { user_id: `u${person}`, anonymous_id: `v${person}` }
        : { anonymous_id: `u${person}` }),
      timestamp: EPOCH + at,
      received_at: EPOCH + 3_600_000 + received,
      properties: {
        ...(p.text === undefined ? {} : { p: p.text }),
        ...(q.text === undefined ? {} : { q: q.text }),
      },
      property_numbers: {
        ...(p.number === undefined ? {} : { p: p.number }),
        ...(q.number === undefined ? {} : { q: q.number }),
      },
    }));
}

const person: fc.Arbitrary<PersonTraits> = fc
  .record({
    tier: fc.constantFrom('gold', 'silver', ''),
    age: fc.constantFrom(20, 30),
    city: fc.constantFrom('', 'تهران', 'یزد'),
  })
  .map(({ tier, age, city }) => ({
    traits: { ...(tier === '' ? {} : { tier }), age: String(age) },
    trait_numbers: { age },
    columns: { city },
  }));

/** A small account. Places are unique, and say nothing about the order of times. */
export function datasetOf(
  shape: EventShape & { maxEvents: number; merges?: boolean },
): fc.Arbitrary<Dataset> {
  const { people, maxEvents, merges = false } = shape;
  return fc
    .record({
      events: fc.array(eventOf(shape), {
        minLength: Math.floor(maxEvents * 0.7),
        maxLength: maxEvents,
        size: 'max',
      }),
      offsets: fc.shuffledSubarray(
        Array.from({ length: maxEvents }, (_, at) => at),
        { minLength: maxEvents, maxLength: maxEvents },
      ),
      traits: fc.array(fc.option(person), { minLength: people, maxLength: people }),
      joins: fc.array(fc.nat({ max: people - 1 }), { minLength: people, maxLength: people }),
    })
    .map(({ events, offsets, traits, joins }) => {
      const rows = events.map((event, at) =>
        storedEvent({ ...event, message_id: `m${at}`, _offset: offsets[at] ?? at }),
      );
      // each name joins a lower one or nobody, and that one is nobody's: flat, as the identities
      // projection writes it
      const canonical = new Map<string, string>();
      for (const [name, to] of joins.entries()) {
        if (merges && to < name && to % 3 === 0 && !canonical.has(`u${to}`) && name % 2 === 0)
          canonical.set(`u${name}`, `u${to}`);
      }
      const named = traits.flatMap((one, at) =>
        one && !canonical.has(`u${at}`) ? [[`u${at}`, one] as const] : [],
      );
      return { events: rows, canonical, people: new Map(named) };
    });
}

const filter = fc.oneof(
  fc.record({ property: fc.constantFrom('p', 'q'), op: fc.constantFrom('is_set', 'is_not_set') }),
  fc.record({
    property: fc.constantFrom('p', 'q'),
    op: fc.constantFrom('eq', 'neq'),
    value: fc.constantFrom('x', 'y', 'x=y', '2', 2, 1, true, ''),
  }),
  fc.record({
    property: fc.constantFrom('p', 'q'),
    op: fc.constantFrom('in', 'not_in'),
    value: fc.array(fc.constantFrom('x', 'y', 'x', 'y', 'x=y', '2', 2, 1, 2.5, true), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  fc.record({
    property: fc.constantFrom('p', 'q'),
    op: fc.constantFrom('contains', 'prefix'),
    value: fc.constantFrom('x', 'y', '', 'xy'),
  }),
  fc.record({
    property: fc.constantFrom('p', 'q'),
    op: fc.constantFrom('gt', 'gte', 'lt', 'lte'),
    value: fc.constantFrom(0, 1, 2, 2.5),
  }),
  fc.record({
    property: fc.constantFrom('p', 'q'),
    op: fc.constant('between'),
    value: fc.constantFrom([1, 2], [2, 3], [3, 1]),
  }),
  fc.record({
    field: fc.constant('city'),
    op: fc.constantFrom('eq', 'neq', 'is_set', 'is_not_set', 'prefix'),
    value: fc.constantFrom('تهران', 'ت'),
  }),
  fc
    .record({
      field: fc.constant('campaign_id'),
      op: fc.constantFrom('eq', 'neq', 'in'),
      value: fc.constantFrom(5, '5'),
    })
    .map(({ value, ...rest }) => ({
      ...rest,
      value: rest.op === 'in' ? [value, 7] : value,
    })),
  fc.record({
    trait: fc.constant('tier'),
    op: fc.constantFrom('eq', 'neq', 'is_set', 'is_not_set'),
    value: fc.constantFrom('gold', 'silver'),
  }),
  fc.record({
    trait: fc.constant('age'),
    op: fc.constantFrom('gt', 'lt', 'eq'),
    value: fc.constantFrom(25, 20),
  }),
  fc.record({
    trait: fc.constant('city'),
    op: fc.constantFrom('eq', 'neq', 'is_not_set'),
    value: fc.constant('تهران'),
  }),
);

/** Request filters of every kind; most lists are empty, so that something is left to count. */
export function filters(max: number): fc.Arbitrary<unknown[]> {
  const some = fc.array(filter, { minLength: 1, maxLength: max });
  return fc
    .nat({ max: 6 })
    .chain((draw): fc.Arbitrary<unknown[]> => (draw === 0 ? some : fc.constant([])));
}

export const breakdownTarget = fc.constantFrom<Record<string, string>>(
  { property: 'p' },
  { field: 'city' },
  { field: 'campaign_id' },
  // splits by person, so that errors cannot cancel out
  { field: 'anonymous_id' },
  { field: 'message_id' },
  { trait: 'tier' },
  { trait: 'city' },
);

import fc from 'fast-check';
import type { PersonTraits } from '../../../../../audiences/conditions/predicate.ts';
import type { EventRow } from '../../../../../schemas/records.ts';
import type { Dataset } from '../../../testing/dataset.ts';
import type { FunnelOrder } from '../../request.ts';

export interface FunnelCase {
  /** The body of a request. */
  body: object;
  dataset: Dataset;
}

/** A midnight, on which the range begins. */
const START = Date.UTC(2026, 8, 20);
const PEOPLE = ['u0', 'u1', 'u2'];
/** The model lists all paths of a person: more events would take it long. */
const MAX_EVENTS = 7;

const at = (ms: number): string => new Date(START + ms).toISOString();

const filter = fc.constantFrom<object>(
  { property: 'p', op: 'eq', value: 'x' },
  { property: 'p', op: 'in', value: ['x', 'y'] },
  { property: 'q', op: 'is_set' },
);

/** Steps share names, whole conditions, or parts of them. */
const names = fc.constantFrom(['a'], ['a', 'b'], ['a', 'b', 'c', 'd']);
const selectorOf = (events: readonly string[]): fc.Arbitrary<object> =>
  fc.record({
    event: fc.constantFrom(...events),
    filters: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.tuple(filter)),
  });
const shared = names.chain((events) => {
  const selector = selectorOf(events);
  const steps = fc.array(selector, { minLength: 2, maxLength: 6 });
  return fc.record({ steps, exclude: fc.array(selector, { maxLength: 2 }) });
});
/** Twelve steps of which no event matches two, some of them behind what a person does. */
const apart = fc.record({
  steps: fc.constant(Array.from({ length: 12 }, (_, at) => ({ event: 'abcdefghijkl'.charAt(at) }))),
  exclude: fc.array(selectorOf(['c', 'x']), { maxLength: 1 }),
});

const breakdownOf = (steps: number): fc.Arbitrary<object> =>
  fc
    .record({
      target: fc.constantFrom<object>(
        { property: 'p' },
        // a value for each event, and for each person, so that errors cannot cancel out
        { field: 'message_id' },
        { field: 'anonymous_id' },
        { trait: 'tier' },
      ),
      step: fc.integer({ min: 1, max: steps }),
      limit: fc.constantFrom(1, 2, 100),
    })
    .map(({ target, ...rest }) => ({ ...target, ...rest }));

function bodyOf(order: FunnelOrder): fc.Arbitrary<object> {
  return fc.oneof({ weight: 5, arbitrary: shared }, apart).chain(({ steps, exclude }) =>
    fc.record({
      ...{ order: fc.constant(order), steps: fc.constant(steps) },
      ...(order === 'any' ? {} : { exclude: fc.constant(exclude.map(spanned(steps.length))) }),
      from: fc.constantFrom(at(0), at(0), at(1000)),
      to: fc.constantFrom(at(2000), at(4000), at(20_000)),
      window_seconds: fc.constantFrom(1, 2, 3, 3, 60, 60),
      include_bots: fc.boolean(),
      breakdown: fc.option(breakdownOf(steps.length), { nil: undefined }),
    }),
  );
}

/** An exclusion of all gaps, or of the last one, as its event says. */
const spanned = (steps: number) => (exclusion: object) =>
  JSON.stringify(exclusion).length % 2 === 0
    ? exclusion
    : { ...exclusion, from_step: steps - 1, to_step: steps };

interface Drawn {
  event: string;
  type: string;
  at: number;
  place: number;
  p: string | undefined;
  q: boolean;
  is_bot: boolean;
}

/** Names of events: mostly those that steps share. */
const EVENTS = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'd', 'e', 'x', 'message_sent'];

const drawn: fc.Arbitrary<Drawn> = fc.record({
  event: fc.constantFrom(...EVENTS),
  type: fc.constantFrom('track', 'track', 'track', 'page', 'identify'),
  // few instants, and windows end at some of them, or a millisecond before
  at: fc.constantFrom(0, 500, 1000, 1000, 2000, 2001, 3000, 3000, 4000, 6000),
  place: fc.nat({ max: 999 }),
  p: fc.constantFrom('x', 'y', undefined),
  q: fc.boolean(),
  is_bot: fc.integer({ min: 0, max: 14 }).map((draw) => draw === 0),
});

/** What the model reads of an event. */
function eventOf({ p, q, at: after, place, ...event }: Drawn, user: string, id: number): EventRow {
  const row: Partial<EventRow> = {
    ...{ ...event, user_id: user, anonymous_id: `v${user}`, message_id: `m${id}` },
    ...{ timestamp: START + after, received_at: place % 2, _partition: place % 3 },
    ...{ _offset: place, _index: id },
    properties: { ...(p === undefined ? {} : { p }), ...(q ? { q: '1' } : {}) },
    property_numbers: {},
  };
  return row as EventRow;
}

const tier: fc.Arbitrary<PersonTraits> = fc
  .constantFrom('gold', 'silver', undefined)
  .map((value) => ({
    ...{ traits: value === undefined ? {} : { tier: value }, trait_numbers: {}, columns: {} },
  }));

const dataset: fc.Arbitrary<Dataset> = fc
  .record({
    events: fc.tuple(
      fc.array(drawn, { minLength: 2, maxLength: MAX_EVENTS - 2, size: 'max' }),
      fc.array(drawn, { minLength: 4, maxLength: MAX_EVENTS, size: 'max' }),
      fc.array(drawn, { maxLength: 2 }),
    ),
    isMerged: fc.boolean(),
    traits: fc.array(tier, { minLength: PEOPLE.length, maxLength: PEOPLE.length }),
  })
  .map(({ events, isMerged, traits }) => ({
    events: events.flatMap((own, person) =>
      own.map((event, index) => eventOf(event, PEOPLE[person] ?? '', person * 100 + index)),
    ),
    canonical: new Map(isMerged ? [['u2', 'u0']] : []),
    people: new Map(
      traits.flatMap((one, index) =>
        isMerged && index === 2 ? [] : [[PEOPLE[index] ?? '', one] as const],
      ),
    ),
  }));

/** Small accounts and requests; ties and repeats are the rule. */
export function funnelCases(order: FunnelOrder): fc.Arbitrary<FunnelCase> {
  return fc.record({ body: bodyOf(order), dataset });
}

import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEvents } from '../../../account-api/reports/few-events/read-events.ts';
import { compileFunnel } from '../../../account-api/reports/funnel/compile.ts';
import { funnelOfFew } from '../../../account-api/reports/funnel/few/funnel-of-few.ts';
import { funnelOfMany } from '../../../account-api/reports/funnel/many/funnel-of-many.ts';
import { funnelModel } from '../../../account-api/reports/funnel/testing/model.ts';
import {
  answerFunnel,
  type FunnelAnswer,
  type FunnelRow,
} from '../../../account-api/reports/funnel/answer.ts';
import { parseFunnel, type FunnelRequest } from '../../../account-api/reports/funnel/request.ts';
import { countStored } from '../../../account-api/reports/many-events/testing/count-here.ts';
import type { Dataset } from '../../../account-api/reports/testing/dataset.ts';
import { breakdownTarget, EPOCH, filters, datasetOf } from './arbitraries.ts';
import { holdsForAll, type Case } from './holds-for-all.ts';
import { openWarehouse, type Warehouse } from './warehouse.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await openWarehouse('funnel_property');
});
afterAll(() => warehouse.close());

const at = (milliseconds: number): string => new Date(EPOCH + milliseconds).toISOString();

interface Shape {
  order: 'ordered' | 'strict' | 'any';
  steps: fc.Arbitrary<unknown[]>;
  exclude?: boolean;
  breakdown?: boolean;
  /** Seconds of the window. */
  windows?: readonly number[];
}

/**
 * Request bodies over few instants: windows pass `to`, and steps share names, whole conditions or
 * parts of them.
 */
function bodyOf(shape: Shape): fc.Arbitrary<unknown> {
  return shape.steps.chain((steps) =>
    fc.record({
      order: fc.constant(shape.order),
      steps: fc.constant(steps),
      from: fc.constantFrom(at(0), at(0), at(1000), at(3000)),
      to: fc.constantFrom(at(4000), at(6000), at(20_000)),
      window_seconds: fc.constantFrom(...(shape.windows ?? [1, 2, 3, 5, 5, 60])),
      include_bots: fc.boolean(),
      filters: filters(1),
      exclude: shape.exclude
        ? fc.array(exclusion(steps.length), { minLength: 1, maxLength: 2 })
        : fc.constant(undefined),
      breakdown: shape.breakdown ? breakdown(steps.length) : fc.constant(undefined),
    }),
  );
}

function exclusion(steps: number): fc.Arbitrary<unknown> {
  const event = fc.constantFrom('a', 'b', 'c', 'd', 'x', 'message_sent');
  const gaps = fc
    .tuple(fc.integer({ min: 1, max: steps - 1 }), fc.nat({ max: steps - 2 }))
    .map(([from, more]) => ({
      from_step: from,
      to_step: Math.min(steps, from + 1 + more),
    }));
  return fc
    .record({ event, filters: filters(1), gaps: fc.option(gaps, { nil: {} }) })
    .map(({ gaps: range, ...rest }) => ({ ...rest, ...range }));
}

function breakdown(steps: number): fc.Arbitrary<unknown> {
  return fc
    .record({
      target: breakdownTarget,
      step: fc.integer({ min: 1, max: steps }),
      limit: fc.constantFrom(1, 2, 100),
    })
    .map(({ target, ...rest }) => ({ ...target, ...rest }));
}

/** Steps that no event can share: other names, or other values of one property. */
const apart = fc.constantFrom<unknown[]>(
  [{ event: 'a' }, { event: 'b' }],
  [{ event: 'a' }, { event: 'b' }],
  [{ event: 'a' }, { event: 'b' }, { event: 'c' }],
  [{ event: 'c' }, { event: 'a' }, { event: 'b' }, { event: 'd' }],
  [
    { event: 'a', filters: [{ property: 'p', op: 'eq', value: 'x' }] },
    { event: 'a', filters: [{ property: 'p', op: 'in', value: ['y', 'xy'] }] },
    { event: 'b' },
  ],
);

/** Steps of one condition twice, next to each other or not, and conditions that overlap in part. */
const x = { property: 'p', op: 'eq', value: 'x' };
const overlapping = fc.constantFrom<unknown[]>(
  [{ event: 'a' }, { event: 'a' }],
  [{ event: 'a' }, { event: 'a' }],
  [{ event: 'a' }, { event: 'a' }, { event: 'b' }],
  [{ event: 'a' }, { event: 'b' }, { event: 'a' }],
  [{ event: 'a' }, { event: 'a', filters: [x] }, { event: 'b' }],
  [
    { event: 'a', filters: [x] },
    { event: 'a' },
    { event: 'a', filters: [{ property: 'q', op: 'is_set' }] },
  ],
  [{ event: 'a' }, { event: 'b' }, { event: 'a', filters: [x] }, { event: 'b' }],
);

const names = ['a', 'a', 'b', 'b', 'c', 'd'];
const crowded = ['a', 'a', 'b', 'b', 'message_sent'];
const times = fc.integer({ min: -2, max: 16 }).map((half) => half * 500);
/** So few instants that a person's events share them. */
const crowdedTimes = fc.integer({ min: 0, max: 6 }).map((second) => second * 1000);

/**
 * The answer of the statement, that of the events, and that of threads where they count such a
 * funnel, which must be equal; all where they are not.
 */
async function bySql(account: number, one: Case): Promise<unknown> {
  const parsed = parseFunnel(one.body);
  if (!parsed.ok)
    throw new Error(
      `${parsed.problem.kind}: ${parsed.problem.message} ${JSON.stringify(one.body)}`,
    );
  const { request } = parsed;
  const merges = one.dataset.canonical.size > 0 ? 'table' : 'none';
  const { sql, params } = compileFunnel({ request, accountId: account, merges });
  const client = onAccount(warehouse.client, account);
  const result = await (
    await client.query({
      query: sql,
      query_params: params,
      format: 'JSON',
    })
  ).json<FunnelRow>();
  const few = funnelOfFew(request, account);
  const { columns } = await readEvents(client, {
    ...{ compiled: few.compile(merges), limit: few.limit },
    signal: AbortSignal.timeout(60_000),
  });
  const statement = answerOf(request, result.data);
  const events = columns && answerOf(request, few.next(columns) as FunnelRow[]);
  const many = funnelOfMany(request, account);
  const threads = many
    ? answerOf(request, (await countStored(client, { many, merges })) as FunnelRow[])
    : events;
  const isSame = isDeepStrictEqual(statement, events) && isDeepStrictEqual(statement, threads);
  return isSame ? statement : { statement, events, threads };
}

function answerOf(request: FunnelRequest, rows: readonly FunnelRow[]): Omit<FunnelAnswer, 'meta'> {
  const measured = { freshUntil: 0, rowsRead: 0, elapsedMs: 0 };
  const answer: Partial<FunnelAnswer> = answerFunnel({ request, rows, measured });
  delete answer.meta;
  return answer as Omit<FunnelAnswer, 'meta'>;
}

/** True when somebody got to a step: the last one, unless another is named. */
function isTelling(answer: string, step = -1): boolean {
  const { steps } = JSON.parse(answer) as { steps: { count: number }[] };
  return (steps.at(step)?.count ?? 0) > 0;
}

function byReference({ body, dataset: content }: { body: unknown; dataset: Dataset }): unknown {
  const parsed = parseFunnel(body);
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return funnelModel(content, parsed.request);
}

const shapes = {
  'ordered, steps apart': bodyOf({ order: 'ordered', steps: apart }),
  'ordered, steps apart, broken down': bodyOf({ order: 'ordered', steps: apart, breakdown: true }),
  'ordered, steps apart, exclusions': bodyOf({ order: 'ordered', steps: apart, exclude: true }),
  'ordered, steps apart, exclusions, broken down': bodyOf({
    order: 'ordered',
    steps: apart,
    exclude: true,
    breakdown: true,
  }),
  'ordered, steps overlap': bodyOf({ order: 'ordered', steps: overlapping }),
  'ordered, steps overlap, broken down': bodyOf({
    order: 'ordered',
    steps: overlapping,
    breakdown: true,
  }),
  'ordered, steps overlap, exclusions': bodyOf({
    order: 'ordered',
    steps: overlapping,
    exclude: true,
  }),
  'ordered, steps overlap, exclusions, broken down': bodyOf({
    order: 'ordered',
    steps: overlapping,
    exclude: true,
    breakdown: true,
  }),
  strict: bodyOf({ order: 'strict', steps: fc.oneof(apart, overlapping) }),
  'strict, broken down': bodyOf({
    order: 'strict',
    steps: fc.oneof(apart, overlapping),
    breakdown: true,
  }),
  'strict, exclusions, broken down': bodyOf({
    order: 'strict',
    steps: fc.oneof(apart, overlapping),
    exclude: true,
    breakdown: true,
  }),
  'any order, steps apart': bodyOf({ order: 'any', steps: apart }),
  'any order, steps apart, broken down': bodyOf({ order: 'any', steps: apart, breakdown: true }),
  'any order, steps overlap': bodyOf({ order: 'any', steps: overlapping }),
  'any order, steps overlap, broken down': bodyOf({
    order: 'any',
    steps: overlapping,
    breakdown: true,
  }),
};

for (const [name, body] of Object.entries(shapes)) {
  test(
    `the SQL, the search in the process and the model agree: ${name}`,
    { timeout: 600_000 },
    async () => {
      const isCrowded = name.startsWith('strict');
      const content = datasetOf({
        names: isCrowded ? crowded : names,
        times: name.includes('overlap') ? crowdedTimes : times,
        people: 40,
        maxEvents: 300,
        merges: true,
      });
      const failure = await holdsForAll({
        warehouse,
        cases: fc.record({ body, dataset: content }),
        bySql,
        byReference,
        isTelling,
      });
      expect(failure).toBeUndefined();
    },
  );
}

/**
 * The events of a series: those of a person get the names `e0`, `e1`, … in turns and lie behind
 * each other, mostly in this order; events of other names lie after them.
 */
function inOrder(dataset: Dataset, length: number): Dataset {
  const counts = new Map<string, number>();
  const events = dataset.events.map((event) => {
    if (!/^e\d+$/.test(event.event)) return { ...event, timestamp: event.timestamp + length * 500 };
    const person = event.user_id || event.anonymous_id;
    const at = counts.get(person) ?? 0;
    counts.set(person, at + 1);
    const turn = at % length;
    return { ...event, event: `e${turn}`, timestamp: event.timestamp + turn * 500 };
  });
  return { ...dataset, events };
}

/** At most so many events of a person: the model lists every order of simultaneous ones. */
function atMost(dataset: Dataset, most: number): Dataset {
  const counts = new Map<string, number>();
  const events = dataset.events.filter((event) => {
    const person = event.user_id || event.anonymous_id;
    counts.set(person, (counts.get(person) ?? 0) + 1);
    return (counts.get(person) ?? 0) <= most;
  });
  return { ...dataset, events };
}

const series = (count: number) => Array.from({ length: count }, (_, at) => ({ event: `e${at}` }));
const seriesNames = (count: number) => series(count).map(({ event }) => event);
const q = { property: 'q', op: 'is_set' };
const ax = { event: 'a', filters: [x] };
const aq = { event: 'a', filters: [q] };
const [sa, sb] = [{ event: 'a' }, { event: 'b' }];
const windows = [8, 60];
const instants = (...seconds: number[]) =>
  fc.constantFrom(...seconds.map((second) => second * 1000));
/** Twelve steps that share events: of one condition, of nested ones, and in part. */
const twelve = fc.constantFrom<unknown[]>(
  Array(12).fill(sa),
  [sa, sb, sa, sb, sa, sb, sa, sb, sa, sb, sa, sb],
  [sa, ax, aq, sa, ax, aq, sa, sb, sa, ax, sb, sa],
  [ax, aq, ax, sa, sa, aq, sb, sb, aq, ax, sa, aq],
);

interface LongCase {
  steps: fc.Arbitrary<unknown[]>;
  more?: Partial<Shape>;
  names: readonly string[];
  times: fc.Arbitrary<number>;
  people: number;
  /** Events of a person, about. */
  events: number;
  most?: number;
  /** Steps of events that lie behind each other. */
  ordered?: number;
  /** 0-based step that somebody has to reach in some case. */
  telling: number;
}

const jitter = fc.integer({ min: 0, max: 3 }).map((half) => half * 500);
const common = { names: [...seriesNames(12)], times: jitter, people: 25, ordered: 12 };
/** Long funnels: where arrays are emptied (after steps 3, 6 and 9), and every bit of a mask. */
const longCases: Record<string, LongCase> = {
  'ordered, 7 steps apart': {
    ...{ ...common, names: seriesNames(7), ordered: 7, events: 9, telling: 6 },
    steps: fc.constant(series(7)),
  },
  'ordered, 12 steps apart, broken down': {
    ...{ ...common, events: 15, telling: 9 },
    ...{ steps: fc.constant(series(12)), more: { breakdown: true } },
  },
  'ordered, 12 steps apart, exclusions': {
    ...{ ...common, names: [...seriesNames(12), 'x'], events: 15, telling: 8 },
    ...{ steps: fc.constant(series(12)), more: { exclude: true } },
  },
  'ordered, the last 4 of 12 steps overlap, ties, broken down': {
    ...{ names: [...seriesNames(8), 'a', 'a', 'a', 'a', 'a', 'b', 'b'], ordered: 8 },
    ...{ times: instants(0, 0, 0, 1), people: 40, events: 16, telling: 8 },
    ...{ steps: fc.constant([...series(8), sa, ax, sb, sa]), more: { breakdown: true } },
  },
  'ordered, 7 steps overlap, ties, exclusions, broken down': {
    ...{
      names: ['a', 'a', 'a', 'b', 'c'],
      times: instants(3, 3, 4, 5),
      people: 30,
      events: 7,
      most: 8,
    },
    ...{
      steps: twelve.map((steps) => steps.slice(0, 7)),
      more: { exclude: true, breakdown: true },
    },
    telling: 3,
  },
  'ordered, 12 steps overlap, all events at midnight': {
    ...{
      names: ['a', 'a', 'a', 'b'],
      times: instants(3),
      people: 30,
      events: 6,
      most: 7,
      telling: 4,
    },
    steps: twelve,
  },
  'ordered, 12 steps overlap, all events at midnight, broken down': {
    ...{
      names: ['a', 'a', 'a', 'b'],
      times: instants(3),
      people: 30,
      events: 6,
      most: 7,
      telling: 4,
    },
    ...{ steps: twelve, more: { breakdown: true } },
  },
  'ordered, 12 steps overlap, all events at the midnights of two days, broken down': {
    ...{
      names: ['a', 'a', 'a', 'b'],
      times: instants(3, 5),
      people: 30,
      events: 7,
      most: 8,
      telling: 4,
    },
    ...{ steps: twelve, more: { breakdown: true } },
  },
  'strict, 12 steps of one event, broken down': {
    ...{ names: ['a', 'a', 'a', 'a', 'a', 'b'], people: 20, events: 30, telling: 8 },
    ...{ times: fc.integer({ min: 0, max: 40 }).map((at) => at * 100) },
    ...{ steps: fc.constant(Array(12).fill(sa)), more: { order: 'strict', breakdown: true } },
  },
  'any order, 12 steps apart': {
    ...{ ...common, people: 10, events: 11, telling: 6 },
    ...{ steps: fc.constant(series(12)), more: { order: 'any' } },
  },
};

for (const [name, long] of Object.entries(longCases)) {
  test(
    `the SQL, the search in the process and the model agree: ${name}`,
    { timeout: 600_000 },
    async () => {
      const { steps, more, telling, ordered = 0, events, people, most = Infinity, ...shape } = long;
      const content = datasetOf({ ...shape, people, maxEvents: people * events });
      const failure = await holdsForAll({
        warehouse,
        cases: fc.record({
          body: bodyOf({ order: 'ordered', steps, windows, ...more }),
          dataset: content.map((dataset) => atMost(inOrder(dataset, ordered), most)),
        }),
        bySql,
        byReference,
        isTelling: (answer) => isTelling(answer, telling),
        runs: 8,
      });
      expect(failure).toBeUndefined();
    },
  );
}

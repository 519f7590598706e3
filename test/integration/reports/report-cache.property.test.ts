import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { audienceCounter, type CountAudience } from '../../../account-api/audiences/count.ts';
import { cachedRows } from '../../../account-api/reports/cache/cached-rows.ts';
import { KeptAnswers } from '../../../account-api/reports/cache/kept-answers.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { parsePaths } from '../../../account-api/reports/paths/request.ts';
import type { Parsed } from '../../../account-api/reports/report-problem.ts';
import { parseRetention } from '../../../account-api/reports/retention/request.ts';
import {
  readReport,
  reportsOver,
  type ReportQuery,
  type RowsOf,
  type RunReports,
} from '../../../account-api/reports/run.ts';
import { parseTrends } from '../../../account-api/reports/trends/request.ts';
import { mergesOf } from '../../../audiences/people-sql.ts';
import { readAudience } from '../../../audiences/read.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { createLog } from '../../../platform/log.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { eventually, FULL } from '../../support/stack.ts';
import { eventColumns, openTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { storedEvent } from './arbitraries.ts';

const DDL = [
  ...EVENTS_DDL,
  'projections/profiles/ddl/0003_profiles.sql',
  'projections/identities/ddl/0004_identities_flat.sql',
  'projections/profiles/ddl/0005_people.sql',
];
const DAY = 86_400_000;
const [MINE, OTHERS] = [1, 2];
/** Two closed months and a part of a third. */
const START = Date.UTC(2026, 6, 1);
const RANGE = { from: '2026-07-01', to: '2026-09-10', timezone: 'UTC' };
const [a, b, c] = [{ event: 'a' }, { event: 'b' }, { event: 'c' }];
const gold = { trait: 'plan', op: 'eq', value: 'gold' };

interface Asked {
  reports: RunReports;
  count: CountAudience;
}
type Ask = (host: Asked, how: Omit<ReportQuery<unknown>, 'request'>) => Promise<object>;
function of<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.request;
}
const funnel = (body: object, readsTraits = false): Ask => {
  const request = of(parseFunnel({ ...RANGE, ...body }));
  return ({ reports }, how) => reports.funnel({ ...how, request, readsTraits });
};
const retention = (body: object): Ask => {
  const request = of(parseRetention({ ...RANGE, start: a, return: b, period: 'month', ...body }));
  return ({ reports }, how) => reports.retention({ ...how, request, readsTraits: false });
};
const trends = of(parseTrends({ ...RANGE, series: [a, b], period: 'month' }));
const paths = of(parsePaths({ ...RANGE, start: a }));
/** The moment of asking, which audiences count back from. */
const clock = { now: START + 40 * DAY };
const audience = (body: object): Ask => {
  const read = readAudience(body);
  if (!read.ok) throw new Error(read.message);
  return async ({ count }, { accountId, signal: own }) => ({
    count: await count({
      ...{ accountId, audience: read.audience.root, now: clock.now },
      signal: own ?? signal(),
    }),
  });
};
const AUDIENCES: Ask[] = [
  audience({
    all: [
      { event: 'a', did: true, within_days: 20 },
      { event: 'b', did: false, within_days: 30 },
    ],
  }),
  audience({
    any: [
      { trait: 'plan', op: 'eq', value: 'gold' },
      { event: 'a', did: true },
    ],
  }),
  audience({ engagement: 'events_30d', op: 'gte', value: 2 }),
  audience({ engagement: 'new' }),
];
const QUESTIONS: Ask[] = [
  funnel({ steps: [a, b, c] }),
  funnel({ steps: [a, { ...b, filters: [gold] }] }, true),
  funnel({ steps: [a, b], order: 'strict', exclude: [c] }),
  retention({ mode: 'recurring' }),
  retention({ from: '2026-08-01', breakdown: { property: 'p' } }),
  ({ reports }, how) => reports.trends({ ...how, request: trends, readsTraits: false }),
  ({ reports }, how) => reports.paths({ ...how, request: paths, readsTraits: false }),
  ...AUDIENCES,
];
/** Whose answer is known where nobody has sent the event. */
const NEEDING = QUESTIONS.slice(0, -AUDIENCES.length);

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('report_cache', { ddl: DDL, tables: [] });
});
afterAll(() => database.close());

const signal = () => AbortSignal.timeout(60_000);
const log = createLog({ part: 'test', level: 'silent' });

/** A process with a cache of its own; `runs` counts the statements that it ran. */
function openProcess() {
  const { client } = database;
  const cached = cachedRows({
    kept: new KeptAnswers({ answer: 1e6, perAccount: 1e6, total: 1e6, maxAgeMs: 1e9 }, Date.now),
    readFew: ({ sql, params }, turn) => readRows({ client, sql, params, signal: turn.signal }),
    ...{ log, now: Date.now },
  });
  const process = { runs: 0, ...askedOver(rowsOf) };
  function rowsOf({ reads, ...statement }: Parameters<RowsOf>[0]) {
    const run = () => {
      process.runs++;
      return readReport(client, statement);
    };
    return reads ? cached({ ...statement, reads }, run) : run();
  }
  return process;
}

function askedOver(rowsOf: RowsOf): Asked {
  const count = audienceCounter({ rowsOf, mergesOf: mergesOf(database.client) });
  return { reports: reportsOver(rowsOf), count };
}

async function answerOf(host: Asked, ask: Ask): Promise<unknown> {
  const merges = await mergesOf(database.client)(MINE, signal());
  const answer: { meta?: unknown } = await ask(host, {
    ...{ accountId: MINE, freshUntil: START + 365 * DAY, merges, signal: signal() },
  });
  delete answer.meta;
  return answer;
}

const fresh = (ask: Ask) =>
  answerOf(
    askedOver((statement) => readReport(database.client, statement)),
    ask,
  );

const command = (query: string) =>
  database.client.command({
    query,
    clickhouse_settings: { mutations_sync: '2', lightweight_deletes_sync: '2' },
  });

let offset = 0;
function insertEvents(account: number, events: { event: string; user: string; at: number }[]) {
  return database.insert(
    'events',
    events.map(({ event, user, at }) => ({
      ...eventColumns(
        storedEvent({
          ...{ event, user_id: user, timestamp: START + at, received_at: START + at },
          ...{ _offset: offset++, properties: { p: user } },
        }),
      ),
      account_id: account,
    })),
  );
}

let version = 0;
const alias = (account: number, name: string, canonical: string) =>
  database.insert('identities_flat', [
    { account_id: account, name, canonical, version: ++version },
    { account_id: account, name: canonical, canonical, version },
  ]);

/** A rebuild that lost or found rows: another table takes the place of `events`. */
async function rebuild(lost: string) {
  const name = `rebuilt_${randomUUID().replaceAll('-', '')}`;
  await command(`CREATE TABLE ${name} AS events`);
  await command(`INSERT INTO ${name} SELECT * FROM events WHERE event != '${lost}'`);
  await command(`EXCHANGE TABLES events AND ${name}`);
  return () => command(`EXCHANGE TABLES events AND ${name}`);
}

const NAMES = ['u', 'v', 'w', 'x', 'y'] as const;
const insertProfiles = () =>
  database.insert(
    'profiles',
    NAMES.map((name) => ({
      ...{ account_id: MINE, name, user_id: name, event_count: ++version },
      ...{ first_seen: START + 35 * DAY, last_seen: START + 35 * DAY },
    })),
  );

type Change = () => Promise<unknown>;
const users = fc.constantFrom(...NAMES);
const account = fc.constantFrom(MINE, MINE, OTHERS);
const event = fc.record({
  event: fc.constantFrom('a', 'a', 'b', 'c', 'd'),
  user: users,
  at: fc.integer({ min: -5 * 24, max: 75 * 24 }).map((hours) => hours * 3_600_000),
});
const condition = fc
  .tuple(account, users)
  .map(([id, user]) => `account_id = ${id} AND user_id = '${user}'`);
const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(account, fc.array(event, { minLength: 1, maxLength: 4 })).map(
    ([id, events]) =>
      () =>
        insertEvents(id, events),
  ),
  fc.constant(() => command('OPTIMIZE TABLE events')),
  fc.constant(() => command('OPTIMIZE TABLE events FINAL')),
  fc.tuple(account, users, users).map(
    ([id, name, canonical]) =>
      () =>
        alias(id, name, canonical),
  ),
  // an undo: each name stands under itself again
  fc.tuple(account, users).map(
    ([id, name]) =>
      () =>
        alias(id, name, name),
  ),
  // as retention does, and as an erasure does
  condition.map((where) => () => command(`DELETE FROM events WHERE ${where}`)),
  condition.map((where) => () => command(`ALTER TABLE events DELETE WHERE ${where}`)),
  // as many rows come as go
  fc.tuple(event, event).map(([first, second]) => async () => {
    await insertEvents(MINE, [first]);
    await command(`ALTER TABLE events DELETE WHERE _offset = ${offset - 1}`);
    await insertEvents(MINE, [second]);
  }),
  fc.tuple(users, fc.constantFrom('gold', 'free')).map(
    ([name, plan]) =>
      () =>
        database.insert('profiles', [
          { account_id: MINE, name, user_id: name, event_count: ++version, traits: { plan } },
        ]),
  ),
  fc.constantFrom('a', 'b', 'none').map((lost) => () => rebuild(lost)),
  fc.constantFrom('a', 'b').map((lost) => async () => (await rebuild(lost))()),
);

/** Time passes, by less than an hour or by days: events leave the windows of audiences. */
const passes = fc
  .constantFrom(1, 600_000, 3_600_000, 5 * DAY)
  .map((ms) => () => Promise.resolve((clock.now += ms)));

const drawnQuestions = fc.uniqueArray(fc.nat({ max: QUESTIONS.length - 1 }), {
  ...{ minLength: 1, maxLength: 2 },
});

function fail(): never {
  throw new Error('there is no such question or process');
}

const RUNS = FULL ? 12 : 1;
const CHANGES = FULL ? 60 : 30;

it(
  'a kept answer equals a fresh one after any changes, in every process',
  {
    timeout: 600_000,
  },
  async () => {
    const seed = Number(process.env['REPORT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const drawn = fc.sample(
      fc.array(
        fc.record({
          change: fc.oneof({ weight: 3, arbitrary: changes }, passes),
          asked: drawnQuestions,
        }),
        {
          minLength: CHANGES,
          maxLength: CHANGES,
        },
      ),
      { numRuns: RUNS, seed },
    );
    let [asked, runs] = [0, 0];
    for (const [run, steps] of drawn.entries()) {
      for (const table of ['events', 'identities_flat', 'profiles'])
        await command(`TRUNCATE TABLE ${table}`);
      clock.now = START + 40 * DAY;
      await insertProfiles();
      await insertEvents(MINE, fc.sample(event, { numRuns: 40, seed: seed + run }));
      const processes = [openProcess(), openProcess()];
      for (const [at, { change, asked: positions }] of steps.entries()) {
        const one = processes[at % 2] ?? fail();
        const questions = positions.map((position) => QUESTIONS[position] ?? fail());
        for (const ask of questions) await answerOf(one, ask);
        await change();
        for (const [place, ask] of questions.entries()) {
          const where = `seed ${seed}, run ${run}, change ${at}, question ${positions[place] ?? ''}`;
          expect(await answerOf(one, ask), where).toEqual(await fresh(ask));
        }
        asked += 2 * questions.length;
      }
      runs += processes.reduce((sum, one) => sum + one.runs, 0);
    }
    // otherwise nothing was kept, and the test would say nothing
    expect(runs).toBeLessThan(asked);
  },
);

it('each kind of change is seen at once', async () => {
  for (const table of ['events', 'identities_flat', 'profiles'])
    await command(`TRUNCATE TABLE ${table}`);
  const at = (name: string, user: string, day: number) => ({ event: name, user, at: day * DAY });
  await insertEvents(MINE, [at('a', 'u', 1), at('b', 'u', 2), at('a', 'v', 3), at('b', 'w', 4)]);
  await insertEvents(MINE, [at('a', 'x', 5)]);
  await alias(MINE, 'z', 'x');
  const trait = (plan: string) => () =>
    database.insert('profiles', [
      { account_id: MINE, name: 'u', user_id: 'u', event_count: ++version, traits: { plan } },
    ]);
  let undo: Change = () => Promise.resolve();
  const kinds: Record<string, Change> = {
    'a merge': () => alias(MINE, 'w', 'v'),
    'the undo of a merge': () => alias(MINE, 'w', 'w'),
    'a late event of a closed month': () => insertEvents(MINE, [at('b', 'x', 6)]),
    'a trait': trait('gold'),
    'another value of the trait': trait('free'),
    'a rebuild': async () => void (undo = await rebuild('b')),
    'the undo of a rebuild': () => undo(),
    'a retention run': () => command(`DELETE FROM events WHERE user_id = 'x' AND event = 'b'`),
    'an erasure': () => command(`ALTER TABLE events DELETE WHERE user_id = 'u'`),
  };
  const one = openProcess();
  for (const [kind, change] of Object.entries(kinds)) {
    const ask = kind.includes('trait') ? QUESTIONS[1] : funnel({ steps: [a, b] });
    if (!ask) throw new Error('no question');
    const before = await fresh(ask);
    expect(await answerOf(one, ask), kind).toEqual(before);
    await change();
    const after = await fresh(ask);
    expect(after, `${kind} changes the answer`).not.toEqual(before);
    expect(await answerOf(one, ask), kind).toEqual(after);
  }
});

it('a late event of a person who is known changes the count of an audience at once', async () => {
  // The changes before may have moved it past the windows of the audiences.
  clock.now = START + 40 * DAY;
  for (const table of ['events', 'identities_flat', 'profiles'])
    await command(`TRUNCATE TABLE ${table}`);
  const people = ['u', 'v', 'w'];
  await database.insert(
    'profiles',
    people.map((name) => ({ account_id: MINE, name, user_id: name, event_count: ++version })),
  );
  const at = (user: string) => ({ event: 'a', user, at: 39 * DAY });
  await insertEvents(MINE, [at('u')]);
  const one = openProcess();
  for (const [index, ask] of AUDIENCES.slice(0, 2).entries()) {
    const before = await fresh(ask);
    expect(await answerOf(one, ask)).toEqual(before);
    await insertEvents(MINE, [at(people[index + 1] ?? '')]);
    const after = await fresh(ask);
    expect(after, 'the event changes the answer').not.toEqual(before);
    expect(await answerOf(one, ask)).toEqual(after);
  }
});

it('inserts of other accounts, other events and merges leave an answer valid', async () => {
  for (const table of ['events', 'identities_flat']) await command(`TRUNCATE TABLE ${table}`);
  await command('SYSTEM STOP MERGES events');
  const early = (name: string, user: string, day: number) => ({ event: name, user, at: day * DAY });
  await insertEvents(MINE, [early('a', 'u', 1), early('b', 'u', 2), early('a', 'v', 3)]);
  const one = openProcess();
  const ask = funnel({ steps: [a, b] });
  const runsAfter = async (change: () => Promise<unknown>) => {
    await change();
    expect(await answerOf(one, ask)).toEqual(await fresh(ask));
    return one.runs;
  };
  const others = () => insertEvents(OTHERS, [early('a', 'w', 4)]);
  expect(await runsAfter(() => Promise.resolve())).toBe(1);
  expect(await runsAfter(() => Promise.resolve())).toBe(1);
  expect(await runsAfter(others)).toBe(1);
  expect(await runsAfter(() => insertEvents(MINE, [early('z', 'u', 4)]))).toBe(1);
  // no merge of the server's own between a state and the counts of its parts
  const merge = async () => {
    await command('SYSTEM START MERGES events');
    await command('OPTIMIZE TABLE events FINAL');
    await command('SYSTEM STOP MERGES events');
  };
  // the rows of the parts that the first merge ends were never counted
  expect(await runsAfter(merge)).toBe(2);
  expect(await runsAfter(others)).toBe(2);
  expect(await runsAfter(merge)).toBe(2);
  expect(await runsAfter(() => insertEvents(MINE, [early('b', 'v', 4)]))).toBe(3);
  await command('SYSTEM START MERGES events');
});

it('a deletion is seen although as many rows come as go', async () => {
  await command('TRUNCATE TABLE events');
  const at = (name: string, user: string, day: number) => ({ event: name, user, at: day * DAY });
  await insertEvents(MINE, [at('a', 'u', 1), at('b', 'u', 2), at('a', 'v', 3)]);
  const one = openProcess();
  const ask = funnel({ steps: [a, b] });
  const check = async () => expect(await answerOf(one, ask)).toEqual(await fresh(ask));
  await check();
  // twice, so that the rows of all parts are counted
  for (let times = 0; times < 2; times++) {
    await insertEvents(OTHERS, [at('a', 'w', 4)]);
    await command('OPTIMIZE TABLE events FINAL');
    await check();
  }
  await command(`DELETE FROM events WHERE account_id = ${MINE} AND event = 'b'`);
  await insertEvents(MINE, [at('a', 'w', 5)]);
  await check();
});

it('an answer that an expiring event decides is not kept', { timeout: 120_000 }, async () => {
  await command('TRUNCATE TABLE events');
  // an expired event stays in its part until the whole part has expired
  await command('SYSTEM STOP TTL MERGES events');
  const expiresIn = 8000;
  const at = Date.now() - 400 * DAY + expiresIn - START;
  const late = Date.now() - 30 * DAY - START;
  await insertEvents(MINE, [
    { event: 'a', user: 'u', at },
    { event: 'a', user: 'u', at: late },
  ]);
  const day = (ago: number) => new Date(Date.now() - ago * DAY).toISOString();
  const ask = retention({ mode: 'first_time', from: day(60), to: day(1) });
  const one = openProcess();
  expect(await answerOf(one, ask)).toBeDefined();
  const expired = START + at + 400 * DAY + 1000;
  await eventually({ ms: 60_000, every: 500, waitingFor: 'the first event to expire' }, () =>
    Promise.resolve(Date.now() > expired || undefined),
  );
  expect(await answerOf(one, ask)).toEqual(await fresh(ask));
});

it('a report on an account without the event runs no statement', async () => {
  await command('TRUNCATE TABLE events');
  await insertEvents(OTHERS, [{ event: 'a', user: 'u', at: DAY }]);
  const one = openProcess();
  for (const ask of NEEDING) expect(await answerOf(one, ask)).toEqual(await fresh(ask));
  expect(one.runs).toBe(0);
});

it('a count of an audience holds until an event leaves its window, or a day begins', async () => {
  for (const table of ['events', 'identities_flat', 'profiles'])
    await command(`TRUNCATE TABLE ${table}`);
  await insertProfiles();
  const now = START + 50 * DAY;
  const near = now - 20 * DAY + 5000;
  await insertEvents(MINE, [
    { event: 'a', user: 'u', at: near - START },
    { event: 'a', user: 'v', at: 45 * DAY },
    { event: 'z', user: 'w', at: near - START - 2000 },
  ]);
  const one = openProcess();
  const ask = AUDIENCES[0] ?? fail();
  const countAt = async (moment: number) => {
    clock.now = moment;
    const answer = await answerOf(one, ask);
    expect(answer).toEqual(await fresh(ask));
    return [(answer as { count: number }).count, one.runs];
  };
  expect(await countAt(now)).toEqual([2, 1]);
  // an event of another name leaves meanwhile
  expect(await countAt(now + 4000)).toEqual([2, 1]);
  // requests may be answered in another order than they came in
  expect(await countAt(now + 3000)).toEqual([2, 1]);
  expect(await countAt(now + 5000)).toEqual([2, 1]);
  expect(await countAt(now + 5001)).toEqual([1, 2]);
  expect(await countAt(now + 4000)).toEqual([2, 3]);
  expect(await countAt(now + DAY)).toEqual([1, 4]);
});

/**
 * Reports whose caller does not know whether the account has merges of people: the state of the
 * cache says it, or a statement of its own where the state is not read.
 */
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { connectQueries, type Queries } from '../../../account-api/queries.ts';
import { cachedRows } from '../../../account-api/reports/cache/cached-rows.ts';
import { KeptAnswers } from '../../../account-api/reports/cache/kept-answers.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { parsePaths } from '../../../account-api/reports/paths/request.ts';
import { parsePeople } from '../../../account-api/reports/people/request.ts';
import type { Parsed } from '../../../account-api/reports/report-problem.ts';
import { parseRetention } from '../../../account-api/reports/retention/request.ts';
import { parseTrends } from '../../../account-api/reports/trends/request.ts';
import { mergesOf, type Merges } from '../../../audiences/people-sql.ts';
import { readAudience } from '../../../audiences/read.ts';
import { settings as managementSettings } from '../../../management-api/config.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { createLog } from '../../../platform/log.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { FULL, readyStack } from '../../support/stack.ts';
import { eventColumns, openTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { storedEvent } from './arbitraries.ts';

const DDL = [
  ...EVENTS_DDL,
  'projections/profiles/ddl/0003_profiles.sql',
  'projections/identities/ddl/0004_identities_flat.sql',
  'projections/profiles/ddl/0005_people.sql',
];
const [MINE, OTHERS] = [1, 2];
const DAY = 86_400_000;
const START = Date.UTC(2026, 6, 1);
const NOW = START + 20 * DAY;
const RANGE = { from: '2026-07-01', to: '2026-07-15', timezone: 'UTC' };
const [a, b] = [{ event: 'a' }, { event: 'b' }];

function of<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.request;
}
const REQUEST = {
  funnel: of(parseFunnel({ ...RANGE, steps: [a, b] })),
  retention: of(parseRetention({ ...RANGE, start: a, return: b, period: 'week', periods: 1 })),
  trends: of(
    parseTrends({
      ...RANGE,
      series: [
        { ...a, measure: 'people' },
        { ...b, measure: 'people' },
      ],
    }),
  ),
  paths: of(parsePaths({ ...RANGE, start: a })),
};
const BOTH = readAudience({ all: [a, b].map((one) => ({ ...one, did: true, within_days: 30 })) });
const REACHED = of(parsePeople({ funnel: { ...RANGE, steps: [a, b] }, step: 2 }));

const signal = () => AbortSignal.timeout(60_000);
const log = createLog({ part: 'test', level: 'silent' });

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('unknown_merges', { ddl: DDL, tables: [] });
});
afterAll(() => database.close());

/** What the host of a process asks with, and how it answered. */
interface Host {
  queries: Queries;
  answered: (answer: 'kept' | 'computed') => Promise<number>;
}
const opened: Queries[] = [];
function openHost(settings: Record<string, string> = {}): Host {
  const registry = new Registry();
  const config = parseSettings(managementSettings, {
    ...{ CLICKHOUSE_URL: readyStack().clickhouse_url, CLICKHOUSE_DATABASE: database.name },
    ...settings,
  });
  const queries = connectQueries({
    ...{ config, name: 'test', log, registry, metric: 'ravand_queries', jobQueries: 1 },
  });
  opened.push(queries);
  const answered = async (answer: string) => {
    const [counted] = await registry
      .getMetricsAsJSON()
      .then((all) => all.filter(({ name }) => name === 'ravand_reports_total'));
    const values = (counted?.values ?? []) as { value: number; labels: { answer?: string } }[];
    return values.find(({ labels }) => labels.answer === answer)?.value ?? 0;
  };
  return { queries, answered };
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((queries) => queries.close()));
});

/** The answers to all questions; `merges` where the caller knows them. */
async function answersOf({ queries: { reports, countAudience } }: Host, merges?: Merges) {
  if (!BOTH.ok) throw new Error(BOTH.message);
  const how = { accountId: MINE, freshUntil: NOW, readsTraits: false, merges, signal: signal() };
  const answers = {
    funnel: await reports.funnel({ ...how, request: REQUEST.funnel }),
    retention: await reports.retention({ ...how, request: REQUEST.retention }),
    trends: await reports.trends({ ...how, request: REQUEST.trends }),
    paths: await reports.paths({ ...how, request: REQUEST.paths }),
    people: await reports.people({ ...how, request: REACHED }),
    count: await countAudience({ ...how, audience: BOTH.audience.root, now: NOW }),
  };
  for (const answer of Object.values(answers))
    if (typeof answer === 'object') delete (answer as { meta?: unknown }).meta;
  return answers;
}
const KEPT_KINDS = 5;

/** In a process without kept answers, whose merges are asked for before. */
async function fresh() {
  const merges = await mergesOf(database.client)(MINE, signal());
  return answersOf(openHost(), merges);
}

const command = (query: string) =>
  database.client.command({ query, clickhouse_settings: { mutations_sync: '2' } });
let [offset, version] = [0, 0];
const insertEvents = (account: number, events: readonly (readonly [string, string, number])[]) =>
  database.insert(
    'events',
    events.map(([event, user, day]) => ({
      ...eventColumns(
        storedEvent({
          ...{ event, user_id: user, _offset: offset++ },
          ...{ timestamp: START + day * DAY, received_at: START + day * DAY },
        }),
      ),
      account_id: account,
    })),
  );
const alias = (account: number, name: string, canonical: string) =>
  database.insert('identities_flat', [
    { account_id: account, name, canonical, version: ++version },
    { account_id: account, name: canonical, canonical, version },
  ]);

beforeEach(async () => {
  for (const table of ['events', 'identities_flat', 'profiles'])
    await command(`TRUNCATE TABLE ${table}`);
  await insertEvents(MINE, [
    ...[['a', 'u', 1] as const, ['b', 'v', 2] as const],
    ...[['a', 'w', 3] as const, ['b', 'x', 4] as const],
  ]);
  for (const account of [MINE, OTHERS])
    await database.insert(
      'profiles',
      ['u', 'v', 'w', 'x'].map((name) => ({
        ...{ account_id: account, name, user_id: name, event_count: ++version },
        ...{ first_seen: START, last_seen: START + 5 * DAY },
      })),
    );
});

/** How many people did both, as each question counts them. */
const reached = ({ funnel, people, count }: Awaited<ReturnType<typeof answersOf>>) => [
  ...[funnel.steps.at(-1)?.count, people.people.length, count],
];

/** The merges of an account from none on, and how many people then did both. */
const CHANGES: readonly [string, () => Promise<unknown>, number][] = [
  ['no merge', () => Promise.resolve(), 0],
  ['a merge in another account', () => alias(OTHERS, 'v', 'u'), 0],
  ['the first merge', () => alias(MINE, 'v', 'u'), 1],
  ['another merge', () => alias(MINE, 'x', 'w'), 2],
  ['the undo of a merge', () => alias(MINE, 'v', 'v'), 1],
  ['the undo of the other one', () => alias(MINE, 'x', 'x'), 0],
];

it('merges of people are in every answer at once, and none is computed twice', async () => {
  const host = openHost();
  for (const [name, change, people] of CHANGES) {
    await change();
    const [answers, expected] = [await answersOf(host), await fresh()];
    expect(answers, name).toEqual(expected);
    expect(reached(answers), name).toEqual([people, people, people]);
    const kept = await host.answered('kept');
    expect(await answersOf(host), name).toEqual(expected);
    expect((await host.answered('kept')) - kept, name).toBe(KEPT_KINDS);
  }
});

it('where no answer is kept, merges are read before each report', async () => {
  const host = openHost({ CLICKHOUSE_CLUSTER: 'none_of_these' });
  for (const [name, change, people] of CHANGES) {
    await change();
    expect(reached(await answersOf(host)), name).toEqual([people, people, people]);
  }
  expect(await host.answered('kept')).toBe(0);
});

it(
  'a kept answer equals a fresh one after any merges and events',
  { timeout: 300_000 },
  async () => {
    const seed = Number(process.env['REPORT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const name = fc.constantFrom('u', 'v', 'w', 'x');
    const account = fc.constantFrom(MINE, MINE, OTHERS);
    const drawn = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.tuple(account, name, name).map((it) => () => alias(...it)),
      },
      fc.tuple(account, name).map(
        ([id, one]) =>
          () =>
            alias(id, one, one),
      ),
      fc.tuple(account, fc.constantFrom('a', 'b', 'z'), name, fc.nat({ max: 18 })).map(
        ([id, ...event]) =>
          () =>
            insertEvents(id, [event]),
      ),
      fc.constant(() => command('OPTIMIZE TABLE identities_flat FINAL')),
    );
    const host = openHost();
    for (const [at, change] of fc.sample(drawn, { seed, numRuns: FULL ? 60 : 15 }).entries()) {
      await answersOf(host);
      await change();
      expect(await answersOf(host), `seed ${seed}, change ${at}`).toEqual(await fresh());
    }
    expect(await host.answered('kept')).toBeGreaterThan(0);
  },
);

/** The merges that `run` is given, and how many statements the cache runs besides. */
async function statementsOf(readable: boolean, times: number) {
  let statements = 0;
  const found: (Merges | undefined)[] = [];
  const cached = cachedRows({
    kept: new KeptAnswers({ answer: 1e6, perAccount: 1e6, total: 1e6, maxAgeMs: 1e9 }, Date.now),
    readFew: ({ sql, params }, turn) => {
      statements++;
      if (!readable) return Promise.reject(new Error('no right to read system.parts'));
      return readRows({ client: database.client, sql, params, signal: turn.signal });
    },
    ...{ log, now: Date.now },
  });
  for (let n = 0; n < times; n++) {
    statements = 0;
    const asked = {
      ...{ accountId: MINE, compiled: { sql: 'a question', params: {} }, signal: signal() },
      reads: { events: ['a'], needed: ['a'], from: START, to: NOW, profiles: false },
    };
    await cached(asked, (merges) => {
      found.push(merges);
      return Promise.resolve({ rows: [1], rowsRead: 1 });
    });
  }
  return { found, statements };
}

it('a report is given the merges that the state shows, and nothing where it cannot be read', async () => {
  expect((await statementsOf(true, 1)).found).toEqual(['none']);
  await alias(MINE, 'v', 'u');
  expect((await statementsOf(true, 1)).found).toEqual(['table']);
  expect((await statementsOf(false, 1)).found).toEqual([undefined]);
});

it('a kept answer takes one statement', async () => {
  expect(await statementsOf(true, 2)).toEqual({ found: ['none'], statements: 1 });
});

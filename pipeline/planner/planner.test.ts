import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { RecentSet } from '../../platform/recent-set.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { InstanceStore } from './instances/instance-store.ts';
import { plannerMetrics } from './metrics.ts';
import { Planner, type PlannerOptions } from './planner.ts';
import { RunStore } from './run-store.ts';
import { PlannerDatabase } from './testing/planner-database.ts';

let db: PlannerDatabase;
beforeAll(async () => {
  db = await PlannerDatabase.open();
});
beforeEach(() => db.empty());
afterAll(() => db.close());

const CITY = { audience: { attribute: 'city', op: 'is_set' } };
const EVENT = { audience: { event: 'order_completed' } };

/** A planner over the test's PostgreSQL whose audiences are three people. */
function plannerOf({
  database = db.database,
  turns = {},
  freezes = 2,
}: {
  database?: Pick<Database, 'query'>;
  turns?: Partial<PlannerOptions['turns']>;
  freezes?: number;
}) {
  const stopping = new AbortController();
  const published: number[] = [];
  const registry = new Registry();
  const log = createLog({ part: 'test', level: 'silent' });
  const people = ['a', 'b', 'c'].map((key) => ({
    ...{ key, person_id: key, user_id: key, is_control: false },
  }));
  const planner = new Planner({
    runs: new RunStore(database, { holder: 'test', leaseSeconds: 60 }),
    instances: {
      store: new InstanceStore(database),
      readSettings: () => Promise.reject(new Error('no campaign is due')),
      ...{ log, now: Date.now, reported: new RecentSet({ capacity: 10, keepFor: 1000 }) },
    },
    turns: {
      findSegment: () => Promise.resolve(undefined),
      freezeRows: () => Promise.resolve({ people: people.length, identitiesRevision: 0 }),
      async *readRecipients({ after }) {
        await Promise.resolve();
        yield people.filter(({ key }) => key > after).slice(0, 2);
      },
      publish: ({ run_id }) => {
        published.push(run_id);
        return Promise.resolve();
      },
      sizes: { chunk: 2, slice: 1 },
      ...{ heartbeatMs: 10_000, random: () => 0, now: Date.now },
      ...turns,
    },
    ...{ metrics: plannerMetrics(registry), log, signal: stopping.signal },
    measure: () => Promise.resolve(),
    concurrency: { freezes, slices: 2 },
  });
  const ended = planner.run();
  const stop = async () => {
    stopping.abort(new Error('stopping'));
    await ended;
  };
  return { planner, published, registry, stop };
}

const untilState = (id: number, state: string) =>
  vi.waitFor(async () => expect(await db.run(id)).toMatchObject({ state }), { timeout: 10_000 });

it('a run that is due is planned, and its recipients are counted', async () => {
  const id = await db.addRun({ definition: CITY });
  const { planner, published, registry, stop } = plannerOf({});
  await untilState(id, 'sending');
  expect(planner.problems()).toEqual([]);
  await stop();
  expect(published).toEqual([id, id]);
  const metrics = await registry.metrics();
  expect(metrics).toContain('ravand_planner_turns_total{outcome="frozen"} 1');
  expect(metrics).toContain('ravand_planner_turns_total{outcome="planned"} 1');
  expect(metrics).toContain('ravand_planner_runs_total{outcome="planning"} 1');
});

it('an audience that takes long does not delay the runs of other accounts', async () => {
  const slow = Promise.withResolvers<never>();
  const stuck = await db.addRun({ account: 1, definition: EVENT });
  const others = [await db.addRun({ account: 2, definition: CITY })];
  const { stop } = plannerOf({
    turns: {
      freezeRows: ({ audience }) =>
        audience.kind === 'event'
          ? slow.promise
          : Promise.resolve({ people: 3, identitiesRevision: 0 }),
    },
  });
  await untilState(others[0] ?? 0, 'sending');
  others.push(await db.addRun({ account: 3, definition: CITY }));
  await untilState(others[1] ?? 0, 'sending');
  expect(await db.run(stuck)).toMatchObject({ state: 'planning', leased_by: 'test' });
  slow.reject(new Error('ended'));
  await stop();
});

it('a turn that fails is tried again, and a shutdown gives runs back', async () => {
  let failures = 0;
  const id = await db.addRun({ definition: CITY });
  const { stop } = plannerOf({
    turns: {
      publish: () => {
        failures++;
        return Promise.reject(new Error('Kafka does not answer'));
      },
    },
  });
  await vi.waitFor(() => expect(failures).toBeGreaterThan(1), { timeout: 10_000 });
  await stop();
  expect(await db.run(id)).toMatchObject({ state: 'planning', chunks: 0, leased_by: null });
});

it('is not ready while PostgreSQL does not answer, and goes on when it does', async () => {
  let isDown = true;
  const id = await db.addRun({ definition: CITY });
  const query = (sql: string, values: unknown[]) =>
    isDown ? Promise.reject(new Error('connection refused')) : db.database.query(sql, values);
  const { planner, stop } = plannerOf({
    database: { query } as unknown as Pick<Database, 'query'>,
  });
  await vi.waitFor(
    () => expect(planner.problems()[0]).toContain('cannot be read from PostgreSQL'),
    { timeout: 20_000 },
  );
  isDown = false;
  await untilState(id, 'sending');
  expect(planner.problems()).toEqual([]);
  await stop();
});

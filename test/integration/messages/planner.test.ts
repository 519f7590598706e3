import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileCount } from '../../../audiences/compile.ts';
import { dayOf } from '../../../audiences/conditions/time-zone.ts';
import { readAudience } from '../../../audiences/read.ts';
import { isInControlGroup } from '../../../events/messages/control-group.ts';
import { personKey } from '../../../events/messages/message-id.ts';
import { rowsFreezer } from '../../../pipeline/planner/freeze/freeze-rows.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { SqlParams } from '../../../platform/clickhouse/sql.ts';
import type { ChunkRecipient } from '../../../schemas/records.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { ServiceProcess } from '../../support/service-process.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { eventually, ravand } from '../../support/stack.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { chunksOf, PlannedCampaigns, type PlannedRun } from './planned-campaign.ts';

const NAMES = 260_000;
/** Every name below is another name of the one before it. */
const MERGED = 10_000;
const PEOPLE = NAMES - MERGED / 2;
/** Of every third name. */
const CITY = 'تهران';
const EVERYBODY = { trait: 'plan', op: 'is_set' };

const postgres = openPostgres();
let database: TestDatabase;
let campaigns: PlannedCampaigns;

beforeAll(async () => {
  await ravand('stop', 'planner');
  database = await openTestDatabase('planner', {
    ddl: [
      ...EVENTS_DDL,
      'projections/identities/ddl/0004_identities_flat.sql',
      'projections/profiles/ddl/0003_profiles.sql',
      'projections/profiles/ddl/0005_people.sql',
      'projections/addresses/ddl/0050_addresses.sql',
      'projections/messages/ddl/0060_messages.sql',
    ],
    tables: [],
  });
  campaigns = await PlannedCampaigns.create(postgres);
  const names = (from: string) => `concat('شخص-', toString(${from}))`;
  await database.client.command({
    query: `INSERT INTO profiles (account_id, name, user_id, event_count, first_seen, last_seen, city, birthday, traits)
      SELECT ${campaigns.accountId}, ${names('number')}, ${names('number')}, 1, now64(3), now64(3), if(number % 3 = 0, '${CITY}', ''), '1990-05-05', map('plan', 'gold')
      FROM numbers(${NAMES})`,
  });
  await database.client.command({
    query: `INSERT INTO identities_flat (account_id, name, canonical, version)
      SELECT ${campaigns.accountId}, ${names('number')}, ${names('number - number % 2')}, 7 FROM numbers(${MERGED})`,
  });
});
afterAll(async () => {
  await campaigns.remove();
  await database.close();
  await ravand('start', 'planner');
});

function startPlanner(): ServiceProcess {
  return new ServiceProcess('pipeline/planner/main.ts', {
    env: { CLICKHOUSE_DATABASE: database.name },
  });
}

function until(runId: number, what: string, holds: (run: PlannedRun) => boolean) {
  return eventually({ ms: 60_000, every: 5, waitingFor: what }, async () => {
    const run = await campaigns.run(runId);
    return holds(run) ? run : undefined;
  });
}

const untilPlanned = (runId: number) =>
  until(runId, 'the run to be planned', ({ isPlanned }) => isPlanned);

/** The recipients of a run in the topic; a chunk that is there twice must be the same twice. */
async function recipientsOf({ id, chunks }: PlannedRun): Promise<ChunkRecipient[]> {
  const written = await chunksOf(id);
  const byNumber = new Map(written.map((chunk) => [chunk.chunk, chunk]));
  for (const chunk of written) expect(chunk).toEqual(byNumber.get(chunk.chunk));
  const numbers = [...Array(chunks).keys()];
  expect([...byNumber.keys()].sort((a, b) => a - b)).toEqual(numbers);
  for (const number of numbers.slice(0, -1))
    expect(byNumber.get(number)?.recipients).toHaveLength(500);
  return numbers.flatMap((number) => byNumber.get(number)?.recipients ?? []);
}

/** Everybody of the audience is in the chunks once, in order, and in the control group or not. */
async function expectEverybody(run: PlannedRun, of: { campaignId: number; percent: number }) {
  const recipients = await recipientsOf(run);
  expect(recipients).toHaveLength(PEOPLE);
  const people = await readRows<{ person: string }>({
    client: database.client,
    sql: 'SELECT person FROM people WHERE account_id = {account:UInt64}',
    params: { account: campaigns.accountId },
    signal: AbortSignal.timeout(60_000),
  });
  const expected = people
    .map(({ person }) => ({
      ...{ key: personKey(person), person_id: person, user_id: person },
      is_control: isInControlGroup(of, person),
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  expect(recipients).toEqual(expected);
  expect(run).toMatchObject({ state: 'sending', planned: PEOPLE });
}

it('a planner that is killed again and again plans everybody once', async () => {
  const before = await campaigns.planned();
  const { campaignId, runId } = await campaigns.send({
    audience: EVERYBODY,
    control_percent: 20,
  });
  const first = startPlanner();
  await until(runId, 'the freeze to begin', ({ attempt }) => attempt === 1);
  await first.end('SIGKILL');
  let kills = 1;
  for (let run = await campaigns.run(runId); !run.isPlanned; run = await campaigns.run(runId)) {
    const { planned, chunks } = run;
    await campaigns.expireLease(runId);
    const planner = startPlanner();
    await until(runId, 'progress', (now) => now.planned > planned || now.chunks > chunks);
    await planner.end('SIGKILL');
    kills++;
  }
  expect(kills).toBeGreaterThan(3);
  const run = await campaigns.run(runId);
  expect(run).toMatchObject({
    attempt: 2,
    frozen: { audience: EVERYBODY, identities_revision: 7 },
  });
  await expectEverybody(run, { campaignId, percent: 20 });
  expect((await campaigns.planned()) - before).toBe(PEOPLE);
});

it('a planner that was suspended while another one planned the run changes nothing', async () => {
  const { campaignId, runId } = await campaigns.send({ audience: EVERYBODY });
  const suspended = startPlanner();
  await until(runId, 'the first chunks', ({ chunks }) => chunks > 0);
  process.kill(suspended.pid, 'SIGSTOP');
  await campaigns.expireLease(runId);
  const other = startPlanner();
  const planned = await untilPlanned(runId);
  process.kill(suspended.pid, 'SIGCONT');
  const next = await campaigns.send({ audience: { attribute: 'city', op: 'eq', value: CITY } });
  const { planned: citizens } = await untilPlanned(next.runId);
  expect(await campaigns.run(runId)).toEqual(planned);
  await Promise.all([suspended.end('SIGTERM'), other.end('SIGTERM')]);
  await expectEverybody(planned, { campaignId, percent: 0 });
  expect(citizens).toBeGreaterThan(NAMES / 3 - MERGED);
});

describe('a run', () => {
  let planner: ServiceProcess;
  beforeAll(() => {
    planner = startPlanner();
  });
  afterAll(() => planner.end('SIGTERM'));

  it('whose segment was removed fails with a sentence', async () => {
    const { runId } = await campaigns.send({ segment_id: 987_654_321 });
    const run = await until(runId, 'the run to fail', ({ state }) => state === 'failed');
    expect(run.error).toBe('The segment 987654321 does not exist any more.');
  });

  it('without recipients is finished at once', async () => {
    const { runId } = await campaigns.send({
      audience: { trait: 'plan', op: 'eq', value: 'silver' },
    });
    const run = await until(runId, 'the run to finish', ({ state }) => state === 'finished');
    expect(run).toMatchObject({ planned: 0, chunks: 0, isPlanned: true });
  });
});

it('audiences of every kind of condition are frozen as they are counted', async () => {
  const day = { attribute: 'days_until_birthday', op: 'between', value: [0, 366] };
  const definitions = [
    { all: [EVERYBODY, { not: { attribute: 'city', op: 'eq', value: CITY } }] },
    { any: [day, { attribute: 'has_push', op: 'eq', value: true }] },
    { all: [{ event: 'order_completed', did: false }, { engagement: 'new' }, EVERYBODY] },
    { engagement: 'orders_90d', op: 'lt', value: 1 },
  ];
  const { client } = database;
  const freezeRows = rowsFreezer({
    ...{ client, cluster: '', timeLimit: 60_000 },
    limits: () => Promise.resolve({}),
    kill: () => undefined,
  });
  const signal = AbortSignal.timeout(60_000);
  const accountId = campaigns.accountId;
  for (const [at, definition] of definitions.entries()) {
    const outcome = readAudience(definition);
    if (!outcome.ok) throw new Error(outcome.message);
    const audience = outcome.audience.root;
    const now = Date.now();
    const params = new SqlParams();
    const today = dayOf(now, 'Asia/Tehran');
    const sql = compileCount(audience, { accountId, now, today, merges: 'table', params });
    const [counted] = await readRows<{ count: number }>({
      ...{ client, sql, params: params.values(), signal },
    });
    const run = { accountId, campaignId: 1, runId: 1_000_000 + at, attempt: 1 };
    const { people } = await freezeRows({ ...run, audience, percent: 0, at: now }, signal);
    expect(people).toBe(counted?.count);
    expect(people).toBeGreaterThan(0);
  }
});

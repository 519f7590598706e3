import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { drawnRuns } from '../../platform/testing/drawn-runs.ts';
import { PlannerDatabase } from './testing/planner-database.ts';
import { PlannerWorld, type Process } from './testing/planner-world.ts';

let db: PlannerDatabase;
beforeAll(async () => {
  db = await PlannerDatabase.open();
});
afterAll(() => db.close());

const EVERYBODY = { audience: { attribute: 'city', op: 'is_set' } };

/** A world with a run of each of these accounts that is about to be planned. */
async function worldOf(people: number, accounts: readonly number[]): Promise<PlannerWorld> {
  await db.empty();
  for (const account of accounts)
    await db.addRun({ account, state: 'planning', definition: EVERYBODY });
  return new PlannerWorld(db, people);
}

/** What must hold when all processes have ended: each person is in one chunk, under one number. */
async function expectPlanned(world: PlannerWorld): Promise<void> {
  const runs = await db.rows<{
    id: number;
    account: number;
    attempt: number;
    planned: number;
    chunks: number;
    is_planned: boolean;
    state: string;
  }>(
    `SELECT id::integer, account_id::integer AS account, freeze_attempt AS attempt, planned::integer, chunks, is_planned, state FROM campaign_runs`,
  );
  for (const run of runs) {
    expect(run).toMatchObject({
      is_planned: true,
      state: run.planned === 0 ? 'finished' : 'sending',
    });
    const written = world.topic.filter(({ run_id }) => run_id === run.id);
    const chunks = new Map(written.map((chunk) => [chunk.chunk, chunk]));
    // A chunk that was written again is the same.
    for (const chunk of written) expect(chunk).toEqual(chunks.get(chunk.chunk));
    expect([...chunks.keys()].sort((a, b) => a - b)).toEqual([...Array(run.chunks).keys()]);
    const recipients = [...Array(run.chunks).keys()].flatMap(
      (chunk) => chunks.get(chunk)?.recipients ?? [],
    );
    expect(recipients).toEqual(world.rowsOf(run.id, run.attempt));
    expect(new Set(recipients.map(({ key }) => key)).size).toBe(run.planned);
    const totals = await db.rows<{ messages: number }>(
      'SELECT messages::integer FROM message_totals WHERE account_id = $1',
      [run.account],
    );
    expect(totals[0]?.messages ?? 0).toBe(run.planned);
  }
}

async function finishWith(world: PlannerWorld, suspended: readonly Process[]): Promise<void> {
  await db.expireLeases();
  await world.start('last').finish();
  // Suspended processes wake up when everything is planned.
  for (const process of suspended) await process.finish();
  await db.expireLeases();
  await world.start('very last').finish();
  await expectPlanned(world);
}

it('a process that is killed or suspended at any instruction neither loses nor doubles a person', async () => {
  const PEOPLE = 11;
  const whole = await worldOf(PEOPLE, [1]);
  const only = whole.start('only');
  await only.quiet();
  let instructions = 0;
  for (; only.waiting > 0; instructions++) await only.step(0);
  await expectPlanned(whole);
  expect(instructions).toBeGreaterThan(30);
  for (const fate of ['killed', 'suspended'] as const)
    for (let at = 0; at < instructions; at++) {
      const world = await worldOf(PEOPLE, [1]);
      const process = world.start('first');
      await process.quiet();
      for (let step = 0; step < at; step++) await process.step(0);
      world.people.push('a newcomer');
      await finishWith(world, fate === 'killed' ? [] : [process]);
    }
}, 120_000);

it('any interleaving of processes, deaths and expired leases plans everybody once', async () => {
  const decision = fc.nat({ max: 1000 });
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 14 }),
      fc.array(decision, { minLength: 20, maxLength: 160 }),
      async (people, decisions) => {
        const world = await worldOf(people, [1, 2]);
        let processes: Process[] = [];
        let started = 0;
        for (const number of decisions) {
          processes = processes.filter(({ hasEnded }) => !hasEnded);
          const [process] = processes.splice(number % Math.max(1, processes.length), 1);
          if (number < 25) await db.expireLeases();
          else if (number < 50) world.people.push(`newcomer-${world.people.length}`);
          // Forgotten: killed.
          else if (number < 75 && process) continue;
          else if ((number < 175 && processes.length < 3) || !process) {
            const next = world.start(`process-${started++}`);
            await next.quiet();
            processes.push(next);
          } else if (process.waiting > 0) await process.step(number);
          if (process) processes.push(process);
        }
        await finishWith(world, processes);
      },
    ),
    { numRuns: drawnRuns(60) },
  );
}, 240_000);

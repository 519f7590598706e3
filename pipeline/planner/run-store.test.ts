import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RunStore } from './run-store.ts';
import { PlannerDatabase } from './testing/planner-database.ts';
import { waitingRuns } from './waiting-runs.ts';

let db: PlannerDatabase;
let store: RunStore;
const storeOf = (holder: string) => new RunStore(db.database, { holder, leaseSeconds: 60 });
const ANY = { freezes: true, slices: true };

beforeAll(async () => {
  db = await PlannerDatabase.open();
  store = storeOf('one');
});
beforeEach(() => db.empty());
afterAll(() => db.close());

/** A run whose audience has so many people. */
async function frozenRun(people = 1200, account = 1): Promise<number> {
  const id = await db.addRun({ account, state: 'planning' });
  const run = await store.lease(ANY);
  if (run?.id !== id) throw new Error('another run was leased');
  await store.recordFrozen(run, { at: Date.now(), people, frozen: {} });
  return id;
}

describe('runs that are due', () => {
  it('begin with their campaign, others wait', async () => {
    const due = await db.addRun();
    const later = await db.addRun({ account: 2, dueAt: `clock_timestamp() + interval '1 minute'` });
    expect(await store.startDue(10)).toEqual({ planning: 1 });
    expect(await db.run(due)).toMatchObject({ state: 'planning' });
    expect(await db.run(later)).toMatchObject({ state: 'scheduled' });
    expect(await db.rows('SELECT id::integer, status FROM campaigns ORDER BY id')).toEqual([
      { id: 11, status: 'sending' },
      { id: 12, status: 'scheduled' },
      { id: 13, status: 'scheduled' },
    ]);
  });

  it('wait for a person when they begin more than an hour late, and run once confirmed', async () => {
    const id = await db.addRun({ dueAt: `clock_timestamp() - interval '61 minutes'` });
    await db.addRun({ account: 2, dueAt: `clock_timestamp() - interval '59 minutes'` });
    expect(await store.startDue(10)).toEqual({ confirm: 1, planning: 1 });
    expect(await db.run(id)).toMatchObject({ state: 'confirm' });
    expect(await waitingRuns(db.database)).toMatchObject({ confirm: 1, planning: 1 });
    await db.rows(
      `UPDATE campaign_runs SET state = 'scheduled', confirmed_at = clock_timestamp() WHERE id = $1`,
      [id],
    );
    expect(await store.startDue(10)).toEqual({ planning: 1 });
    expect((await waitingRuns(db.database)).late_seconds).toBeGreaterThan(59 * 60 - 1);
  });

  it('wait for a person also when ClickHouse was down for that hour', async () => {
    const id = await db.addRun({ state: 'planning' });
    const run = await store.lease(ANY);
    if (!run) throw new Error('the run was not leased');
    await store.release(run, 0);
    await db.rows(`UPDATE campaign_runs SET due_at = due_at - interval '2 hours' WHERE id = $1`, [
      id,
    ]);
    expect(await store.lease(ANY)).toBeUndefined();
    expect(await store.startDue(10)).toEqual({ confirm: 1 });
  });

  it('end at once when they were cancelled with their campaign', async () => {
    const id = await db.addRun();
    const planning = await db.addRun({ account: 2, state: 'planning' });
    await db.rows('UPDATE campaign_runs SET cancelled = true');
    await db.rows(`UPDATE campaigns SET status = 'cancelled' WHERE id < 13`);
    expect(await store.lease(ANY)).toBeUndefined();
    expect(await store.startDue(10)).toEqual({ cancelled: 2 });
    for (const one of [id, planning])
      expect(await db.run(one)).toMatchObject({
        state: 'cancelled',
        finished_at: expect.any(Date) as Date,
      });
    expect(await db.rows('SELECT status FROM campaigns ORDER BY id')).toEqual([
      { status: 'cancelled' },
      { status: 'cancelled' },
      { status: 'scheduled' },
    ]);
  });

  it('wait while their account is suspended', async () => {
    await db.addRun();
    await db.addRun({ state: 'planning' });
    await db.rows(`UPDATE accounts SET status = 'suspended' WHERE id = 1`);
    expect(await store.startDue(10)).toEqual({});
    expect(await store.lease(ANY)).toBeUndefined();
  });
});

describe('a lease', () => {
  it('is held by one process until it ends, and each has a fence and an attempt of its own', async () => {
    const id = await db.addRun({ state: 'planning' });
    const first = await store.lease(ANY);
    expect(first).toMatchObject({ id, fence: 1, freezeAttempt: 1, frozen: undefined, chunks: 0 });
    expect(await storeOf('two').lease(ANY)).toBeUndefined();
    await db.expireLeases();
    expect(await storeOf('two').lease(ANY)).toMatchObject({ id, fence: 2, freezeAttempt: 2 });
  });

  it('is not extended, given back or used by a process that has lost it', async () => {
    const id = await db.addRun({ state: 'planning' });
    const lost = await store.lease(ANY);
    if (!lost) throw new Error('the run was not leased');
    await db.expireLeases();
    const held = await storeOf('two').lease(ANY);
    const before = await db.run(id);
    const frozen = { at: Date.now(), people: 5, frozen: {} };
    expect(await store.extend(lost)).toBe(false);
    expect(await store.release(lost, 0)).toBe(false);
    expect(await store.recordFrozen(lost, frozen)).toBe(false);
    expect(await store.fail(lost, 'no')).toBe(false);
    expect(await db.run(id)).toEqual(before);
    expect(held && (await storeOf('two').recordFrozen(held, frozen))).toBe(true);
  });

  it('is given back for a time', async () => {
    await db.addRun({ state: 'planning' });
    const run = await store.lease(ANY);
    if (!run) throw new Error('the run was not leased');
    await store.release(run, 30);
    expect(await store.lease(ANY)).toBeUndefined();
    expect(await store.extend(run)).toBe(false);
    await db.expireLeases();
    expect(await store.lease(ANY)).toMatchObject({ id: run.id });
  });

  it('is not of a run of which 400,000 written recipients have no outcome, and of another one', async () => {
    const many = await frozenRun(1_000_000);
    await db.rows(
      `UPDATE campaign_runs SET chunks = 900, due_at = due_at - interval '30 minutes' WHERE id = $1`,
      [many],
    );
    expect((await waitingRuns(db.database)).late_seconds).toBe(0);
    const other = await frozenRun(1_000_000);
    const slices = { freezes: false, slices: true };
    const leased = await store.lease(slices);
    expect(leased).toMatchObject({ id: other });
    if (leased) await store.release(leased, 60);
    expect(await store.lease(slices)).toBeUndefined();
    await db.rows(
      `INSERT INTO campaign_run_counts (run_id, status, reason, messages) VALUES ($1, 'sent', '', 40000), ($1, 'failed', 'deadline', 10001)`,
      [many],
    );
    expect(await store.lease(slices)).toMatchObject({ id: many, chunks: 900 });
  });

  it('is of the kind that is wanted', async () => {
    const frozen = await frozenRun();
    const fresh = await db.addRun({ account: 2, state: 'planning' });
    expect(await store.lease({ freezes: false, slices: false })).toBeUndefined();
    expect(await store.lease({ freezes: false, slices: true })).toMatchObject({ id: frozen });
    expect(await store.lease({ freezes: true, slices: false })).toMatchObject({ id: fresh });
  });

  it('goes to the account whose turn was longest ago, however many runs others have', async () => {
    for (let at = 0; at < 5; at++) await db.addRun({ account: 1, state: 'planning' });
    await db.addRun({ account: 2, state: 'planning' });
    await db.addRun({ account: 3, state: 'planning' });
    const turns: number[] = [];
    for (;;) {
      const run = await store.lease(ANY);
      if (!run) break;
      turns.push(run.accountId);
      await store.recordFrozen(run, { at: Date.now(), people: 0, frozen: {} });
    }
    expect(turns).toEqual([1, 2, 3, 1, 1, 1, 1]);
  });

  it('leaves an account with one freeze and one slice at a time', async () => {
    await frozenRun();
    const turns: boolean[] = [];
    for (let at = 0; at < 3; at++) await db.addRun({ state: 'planning' });
    for (let run = await store.lease(ANY); run; run = await store.lease(ANY))
      turns.push(run.frozen !== undefined);
    expect(turns.sort()).toEqual([false, true]);
  });
});

describe('a frozen audience', () => {
  it('is recorded once, and its people are planned once', async () => {
    const id = await db.addRun({ state: 'planning' });
    const run = await store.lease(ANY);
    if (!run) throw new Error('the run was not leased');
    const frozen = { at: Date.UTC(2026, 1, 3), people: 1200, frozen: { audience: { all: [] } } };
    expect(await store.recordFrozen(run, frozen)).toBe(true);
    expect(await store.recordFrozen(run, frozen)).toBe(false);
    expect(await db.run(id)).toMatchObject({
      ...{ state: 'planning', planned: 1200, is_planned: false, leased_by: null },
      ...{ frozen_at: new Date(frozen.at), frozen: frozen.frozen },
    });
    expect(await db.rows('SELECT status, messages::integer FROM message_totals')).toEqual([
      { status: 'planned', messages: 1200 },
    ]);
    expect(await store.lease(ANY)).toMatchObject({
      ...{ id, freezeAttempt: 1, frozen: { at: frozen.at, people: 1200 } },
    });
  });

  it('of nobody finishes the run', async () => {
    const id = await frozenRun(0);
    expect(await db.run(id)).toMatchObject({
      ...{ state: 'finished', is_planned: true, finished_at: expect.any(Date) as Date },
    });
    expect(await db.rows('SELECT status FROM campaigns WHERE id = 11')).toEqual([
      { status: 'sent' },
    ]);
    expect(await db.rows('SELECT * FROM message_totals')).toEqual([]);
  });

  it('of a run that was cancelled meanwhile plans nobody', async () => {
    const id = await db.addRun({ state: 'planning' });
    const run = await store.lease(ANY);
    await db.rows('UPDATE campaign_runs SET cancelled = true');
    if (!run) throw new Error('the run was not leased');
    expect(await store.recordFrozen(run, { at: Date.now(), people: 9, frozen: {} })).toBe(true);
    expect(await db.run(id)).toMatchObject({
      ...{ state: 'cancelled', planned: 0, is_planned: true, frozen_at: null },
    });
    expect(await db.rows('SELECT * FROM message_totals')).toEqual([]);
  });
});

describe('the chunks of a run', () => {
  it('are recorded one slice after the other, and then the run is sending', async () => {
    const id = await frozenRun(1200);
    const first = await store.lease(ANY);
    if (!first) throw new Error('the run was not leased');
    expect(await store.checkpoint(first, { chunks: 2, lastKey: 'bb', isPlanned: false })).toBe(
      true,
    );
    const second = await store.lease(ANY);
    expect(second).toMatchObject({ id, chunks: 2, lastKey: 'bb' });
    if (!second) throw new Error('the run was not leased');
    expect(await store.checkpoint(first, { chunks: 9, lastKey: 'zz', isPlanned: true })).toBe(
      false,
    );
    expect(await store.checkpoint(second, { chunks: 3, lastKey: 'ff', isPlanned: true })).toBe(
      true,
    );
    expect(await db.run(id)).toMatchObject({
      ...{ state: 'sending', chunks: 3, last_key: 'ff', is_planned: true, leased_by: null },
    });
    expect(await store.lease(ANY)).toBeUndefined();
  });

  it('are written also when the run is paused or cancelled: everybody gets an outcome', async () => {
    const id = await frozenRun();
    await db.rows('UPDATE campaign_runs SET paused = true, cancelled = true');
    expect(await store.lease(ANY)).toMatchObject({ id });
  });

  it('are written after a cancellation also while the account is suspended', async () => {
    const id = await frozenRun();
    await db.rows(`UPDATE accounts SET status = 'suspended' WHERE id = 1`);
    expect(await store.lease(ANY)).toBeUndefined();
    await db.rows('UPDATE campaign_runs SET cancelled = true');
    expect(await store.lease(ANY)).toMatchObject({ id });
  });

  it('have a deadline a day after the first of them may be sent', async () => {
    const id = await frozenRun();
    expect(await db.run(id)).toMatchObject({ deadline_at: null });
    const run = await store.lease(ANY);
    const [row] = await db.rows<{ hours: number }>(
      `SELECT round(extract(epoch FROM deadline_at - clock_timestamp()) / 3600)::integer AS hours FROM campaign_runs`,
    );
    expect(row).toEqual({ hours: 24 });
    if (!run) throw new Error('the run was not leased');
    await store.checkpoint(run, { chunks: 1, lastKey: 'a', isPlanned: false });
    const { deadline_at: before } = await db.run(id);
    await store.lease(ANY);
    expect((await db.run(id))['deadline_at']).toEqual(before);
  });
});

describe('a campaign that somebody paused', () => {
  it('stays paused while it has other runs or instances, and ends with the last of them', async () => {
    await db.addRun({ state: 'planning' });
    await db.rows(
      `UPDATE campaigns SET status = 'paused', next_at = clock_timestamp() + interval '1 day'`,
    );
    const statusAfterFailure = async () => {
      const run = await store.lease(ANY);
      if (!run) throw new Error('the run was not leased');
      await store.fail(run, 'broken');
      const [row] = await db.rows<{ status: string }>('SELECT status FROM campaigns WHERE id = 11');
      return row?.status;
    };
    expect(await statusAfterFailure()).toBe('paused');
    await db.rows('UPDATE campaigns SET next_at = NULL');
    await db.addRun({ state: 'planning' });
    expect(await statusAfterFailure()).toBe('failed');
  });
});

describe('a run that cannot be planned', () => {
  it('fails with its sentence, and its campaign with it', async () => {
    const id = await db.addRun({ state: 'planning' });
    const run = await store.lease(ANY);
    if (!run) throw new Error('the run was not leased');
    expect(await store.fail(run, 'The segment 5 does not exist any more.')).toBe(true);
    expect(await db.run(id)).toMatchObject({
      ...{ state: 'failed', error: 'The segment 5 does not exist any more.', leased_by: null },
    });
    expect(await db.rows('SELECT status FROM campaigns WHERE id = 11')).toEqual([
      { status: 'failed' },
    ]);
  });

  it('was cancelled when it was cancelled meanwhile: the campaign did not fail', async () => {
    const id = await db.addRun({ state: 'planning' });
    const run = await store.lease(ANY);
    if (!run) throw new Error('the run was not leased');
    await db.rows('UPDATE campaign_runs SET cancelled = true');
    expect(await store.fail(run, 'broken')).toBe(true);
    expect(await db.run(id)).toMatchObject({ state: 'cancelled', error: '', is_planned: true });
    expect(await db.rows('SELECT status FROM campaigns WHERE id = 11')).toEqual([
      { status: 'draft' },
    ]);
  });

  it('leaves a campaign scheduled that has further instances or runs', async () => {
    await db.addRun({ state: 'planning' });
    const other = await db.addRun({ dueAt: `clock_timestamp() + interval '1 day'` });
    const run = await store.lease(ANY);
    if (!run) throw new Error('the run was not leased');
    await store.fail(run, 'broken');
    expect(await db.rows('SELECT status FROM campaigns WHERE id = 11')).toEqual([
      { status: 'scheduled' },
    ]);
    await db.rows(`DELETE FROM campaign_runs WHERE id = $1`, [other]);
    await db.addRun({ state: 'planning' });
    await db.rows(`UPDATE campaigns SET next_at = clock_timestamp() + interval '1 day'`);
    const recurring = await store.lease(ANY);
    if (!recurring) throw new Error('the run was not leased');
    await store.fail(recurring, 'broken');
    expect(await db.rows('SELECT status FROM campaigns WHERE id = 11')).toEqual([
      { status: 'scheduled' },
    ]);
  });
});

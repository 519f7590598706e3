import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messageSettingsReader } from '../../../messaging/settings/settings-store.ts';
import { createLog } from '../../../platform/log.ts';
import { RecentSet } from '../../../platform/recent-set.ts';
import { PlannerDatabase } from '../testing/planner-database.ts';
import { InstanceStore } from './instance-store.ts';
import { recordInstances, type InstancePorts } from './record-instances.ts';

const DAY = 86_400_000;
/** 23 Nov 2026, 09:00 in Tehran. */
const NINE = Date.UTC(2026, 10, 23, 5, 30);
const DAILY = { rule: 'FREQ=DAILY', starts_at: '2026-11-01T05:30:00Z', time_zone: 'Asia/Tehran' };

let db: PlannerDatabase;
let now: number;

beforeAll(async () => {
  db = await PlannerDatabase.open();
});
beforeEach(async () => {
  await db.empty();
  await db.rows('DELETE FROM message_settings');
  now = NINE;
});
afterAll(() => db.close());

function ports(): InstancePorts {
  return {
    store: new InstanceStore(db.database),
    readSettings: messageSettingsReader({ database: db.database, now: () => performance.now() }),
    log: createLog({ part: 'test', level: 'silent' }),
    now: () => now,
    reported: new RecentSet({ capacity: 10, keepFor: 1000 }),
  };
}

/** Gives a campaign a recurrence whose next instance is at this time. */
async function recur(id: number, nextAt: number, recurrence: object = DAILY): Promise<void> {
  await db.rows('UPDATE campaigns SET recurrence = $2, next_at = $3 WHERE id = $1', [
    ...[id, JSON.stringify(recurrence), new Date(nextAt).toISOString()],
  ]);
}

const runs = () =>
  db.rows(
    `SELECT campaign_id::integer AS campaign, cause, state, due_at, error FROM campaign_runs ORDER BY due_at, campaign_id`,
  );
const nextOf = async (id: number) =>
  (await db.rows<{ next_at: Date | null }>('SELECT next_at FROM campaigns WHERE id = $1', [id]))[0]
    ?.next_at;

describe('a campaign whose next instance is due', () => {
  it('gets a run of its definition, and the rule gives its next instance', async () => {
    await recur(11, NINE);
    await db.rows(`UPDATE campaigns SET definition = '{"audience": {"all": []}}', version = 4`);
    expect(await recordInstances(ports())).toMatchObject({ scheduled: 1, missed: 0 });
    expect(await runs()).toEqual([
      { campaign: 11, cause: 'recurrence', state: 'scheduled', due_at: new Date(NINE), error: '' },
    ]);
    expect(await db.rows('SELECT definition, version FROM campaign_runs')).toEqual([
      { definition: { audience: { all: [] } }, version: 4 },
    ]);
    expect(await nextOf(11)).toEqual(new Date(NINE + DAY));
  });

  it('follows the Persian calendar', async () => {
    // 31 Farvardin 1405; Mehr has 30 days
    const monthly = {
      rule: 'RSCALE=PERSIAN;FREQ=MONTHLY;BYMONTHDAY=31;SKIP=BACKWARD',
      starts_at: '2026-04-20T05:30:00Z',
    };
    await recur(11, Date.parse('2026-10-22T05:30:00Z'), monthly);
    now = Date.parse('2026-10-22T05:30:01Z');
    await recordInstances(ports());
    expect(await nextOf(11)).toEqual(new Date('2026-11-21T05:30:00Z'));
  });

  it('has no next instance after the last one', async () => {
    await recur(11, NINE, { ...DAILY, rule: 'FREQ=DAILY;UNTIL=20261123T053000Z' });
    await recordInstances(ports());
    expect(await nextOf(11)).toBeNull();
    expect(await recordInstances(ports())).toMatchObject({ scheduled: 0, isMore: false });
  });

  it('gets one run of each instance, whichever planners find it due', async () => {
    await recur(11, NINE);
    const { store } = ports();
    const [due] = await store.due({ now, limit: 10 });
    if (!due) throw new Error('no campaign is due');
    const plan = {
      instances: [{ dueAt: NINE, state: 'scheduled' as const, error: '' }],
      nextAt: NINE + DAY,
    };
    expect(await store.record(due, plan)).toBe(true);
    expect(await store.record(due, plan)).toBe(false);
    await recur(11, NINE);
    expect(await store.record(due, plan)).toBe(true);
    expect(await runs()).toHaveLength(1);
  });

  it('is left alone when somebody changed it meanwhile', async () => {
    await recur(11, NINE);
    const { store } = ports();
    const [due] = await store.due({ now, limit: 10 });
    if (!due) throw new Error('no campaign is due');
    await db.rows('UPDATE campaigns SET version = 2');
    expect(await store.record(due, { instances: [], nextAt: null })).toBe(false);
    expect(await nextOf(11)).toEqual(new Date(NINE));
  });

  it('misses the run that still waits for a confirmation, but not one that somebody asked for', async () => {
    await db.addRun({ state: 'confirm', cause: 'recurrence', dueAt: `'2026-11-22T05:30:00Z'` });
    await db.addRun({ state: 'confirm', cause: 'send', dueAt: `'2026-11-22T05:31:00Z'` });
    await recur(11, NINE);
    await recordInstances(ports());
    expect(await runs()).toMatchObject([
      { state: 'missed', error: expect.stringContaining('confirmed') as string },
      { state: 'confirm', cause: 'send' },
      { state: 'scheduled' },
    ]);
  });

  it('misses its run while its approval is missing or stale, in accounts that require it', async () => {
    await db.rows(
      `INSERT INTO message_settings (account_id, settings) VALUES (1, '{"approval_required": "true"}'), (2, '{"approval_required": "true"}')`,
    );
    for (const id of [11, 12, 13]) await recur(id, NINE);
    await db.rows('UPDATE campaigns SET version = 2, approved_version = id - 10');
    expect(await recordInstances(ports())).toMatchObject({ scheduled: 2, missed: 1 });
    expect(await runs()).toMatchObject([
      { campaign: 11, state: 'missed', error: expect.stringContaining('approval') as string },
      { campaign: 12, state: 'scheduled' },
      { campaign: 13, state: 'scheduled' },
    ]);
    expect(await nextOf(11)).toEqual(new Date(NINE + DAY));
  });

  it('misses its run while it is paused', async () => {
    await recur(11, NINE);
    await db.rows(`UPDATE campaigns SET status = 'paused'`);
    await recordInstances(ports());
    expect(await runs()).toMatchObject([{ state: 'missed' }]);
  });

  it('misses its run while its account has as many runs in progress as it may', async () => {
    await db.rows(
      `INSERT INTO message_settings (account_id, settings) VALUES (1, '{"max_active_runs": "2"}')`,
    );
    for (const state of ['sending', 'confirm']) await db.addRun({ state });
    for (const id of [11, 12]) await recur(id, NINE);
    await recordInstances(ports());
    expect(await db.rows(`SELECT error FROM campaign_runs WHERE state = 'missed'`)).toEqual([
      { error: 'The account had too many runs in progress when the run was due.' },
    ]);
    expect(
      await db.rows(`SELECT campaign_id::integer FROM campaign_runs WHERE state = 'scheduled'`),
    ).toEqual([{ campaign_id: 12 }]);
  });

  it('has ended when its last instance was missed', async () => {
    const last = { ...DAILY, rule: 'FREQ=DAILY;UNTIL=20261123T053000Z' };
    await db.rows(
      `INSERT INTO message_settings (account_id, settings) VALUES (1, '{"approval_required": "true"}'), (2, '{"approval_required": "true"}')`,
    );
    for (const id of [11, 12]) await recur(id, NINE, last);
    await db.addRun({ state: 'finished', account: 2 });
    await recordInstances(ports());
    expect(await db.rows('SELECT status FROM campaigns WHERE id < 13 ORDER BY id')).toEqual([
      { status: 'draft' },
      { status: 'sent' },
    ]);
  });

  it('has ended with its last instance also when it was paused, or a late run waited until then', async () => {
    const last = { ...DAILY, rule: 'FREQ=DAILY;UNTIL=20261123T053000Z' };
    await db.rows(
      `INSERT INTO message_settings (account_id, settings) VALUES (1, '{"approval_required": "true"}')`,
    );
    for (const id of [11, 12]) await recur(id, NINE, last);
    await db.rows(`UPDATE campaigns SET status = 'paused' WHERE id = 12`);
    const dueAt = `'2026-11-22T05:30:00Z'`;
    await db.addRun({ state: 'confirm', cause: 'recurrence', dueAt });
    await recordInstances(ports());
    expect(await runs()).toMatchObject([
      ...[{ state: 'missed' }, { state: 'missed' }, { state: 'missed' }],
    ]);
    expect(await db.rows('SELECT status FROM campaigns WHERE id < 13 ORDER BY id')).toEqual([
      { status: 'draft' },
      { status: 'draft' },
    ]);
  });

  it('has no run once it was cancelled, nor while its account is suspended', async () => {
    await recur(11, NINE);
    await recur(12, NINE);
    await db.rows(`UPDATE campaigns SET status = 'cancelled' WHERE id = 11`);
    await db.rows(`UPDATE accounts SET status = 'suspended' WHERE id = 2`);
    await recordInstances(ports());
    expect(await runs()).toEqual([]);
    expect(await nextOf(11)).toBeNull();
    expect(await nextOf(12)).toEqual(new Date(NINE));
  });

  it('whose recurrence cannot be read does not delay those of others', async () => {
    await recur(11, NINE - DAY, { rule: 'FREQ=SOMETIMES', starts_at: 'never' });
    await recur(12, NINE, { ...DAILY, time_zone: 'Asia/Nowhere' });
    await recur(13, NINE);
    expect(await recordInstances(ports())).toMatchObject({ scheduled: 1 });
    expect(await runs()).toMatchObject([{ campaign: 13 }]);
  });
});

it('campaigns of all accounts are considered in turn', async () => {
  await db.rows(
    `INSERT INTO campaigns (id, account_id, name, channel, definition) SELECT 100 + n, 1, 'many', 'email', '{}' FROM generate_series(1, 50) AS n`,
  );
  await db.rows('UPDATE campaigns SET recurrence = $1, next_at = $2', [
    ...[JSON.stringify(DAILY), new Date(NINE).toISOString()],
  ]);
  const due = await new InstanceStore(db.database).due({ now, limit: 6 });
  expect(due.map(({ accountId }) => accountId).sort()).toEqual([1, 1, 1, 1, 2, 3]);
});

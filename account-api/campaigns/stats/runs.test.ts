import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { readCampaignStats } from './read-campaign-stats.ts';
import { readBalance, readRuns } from './runs.ts';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 20);

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060']);
  await postgres.database.query(`INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')`);
  for (const [id, account] of [
    [1, 1],
    [2, 1],
    [3, 1],
    [9, 2],
  ])
    await postgres.database.query(
      `INSERT INTO campaigns (id, account_id, name, channel, definition) VALUES ($1, $2, 'c', 'email', '{}')`,
      [id, account],
    );
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('DELETE FROM campaign_run_counts');
  await postgres.database.query('DELETE FROM campaign_runs');
});

interface Run {
  campaign?: number;
  account?: number;
  definition?: object;
  /** Hours before NOW; undefined: not frozen. */
  frozen?: number | undefined;
  finished?: number;
  planned?: number;
}

const goal = (event: string, window_hours = 24) => ({ goal: { event, window_hours } });

async function addRun(id: number, run: Run = {}): Promise<void> {
  const { campaign = 1, account = 1, definition = goal('buy'), planned = 0 } = run;
  const at = (hours: number | undefined) =>
    hours === undefined ? null : new Date(NOW - hours * HOUR);
  await postgres.database.query(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, planned, frozen_at, finished_at)
     VALUES ($1, $2, $3, 'send', 'sending', now(), $4, 1, $5, $6, $7)`,
    [
      ...[id, campaign, account, JSON.stringify(definition), planned],
      at('frozen' in run ? run.frozen : 1),
      at(run.finished),
    ],
  );
}

const read = async (campaignId = 1) =>
  readRuns(postgres.database, { accountId: 1, campaignId, now: NOW });

describe('the runs that stats are counted of', () => {
  it('begin and end at whole milliseconds, which the clock of a server does not', async () => {
    await addRun(1, { finished: 0 });
    await postgres.database.query(
      `UPDATE campaign_runs SET frozen_at = frozen_at + interval '389.112 ms', finished_at = finished_at + interval '5.999 ms'`,
    );
    const [run] = await read();
    expect(run).toMatchObject({ frozenAt: NOW - HOUR + 389, finishedAt: NOW + 5 });
  });

  it('have the goal and the control group of the definition that they were asked for with', async () => {
    await addRun(1, {
      definition: { ...goal('buy', 2), control_percent: 5 },
      finished: 0,
      planned: 9,
    });
    await addRun(2, { definition: { control_percent: 0 } });
    await addRun(3, { frozen: undefined });
    expect(await read()).toEqual([
      {
        ...{ id: 2, campaignId: 1, planned: 0, frozenAt: NOW - HOUR, finishedAt: undefined },
        ...{ goal: undefined, hasControl: false },
      },
      {
        ...{ id: 1, campaignId: 1, planned: 9, frozenAt: NOW - HOUR, finishedAt: NOW },
        ...{ goal: { event: 'buy', windowMs: 2 * HOUR }, hasControl: true },
      },
    ]);
  });

  it('compete with those of other campaigns of the account that have the same goal event', async () => {
    await addRun(1);
    await addRun(2, { campaign: 2 });
    await addRun(3, { campaign: 3, definition: goal('sign') });
    await addRun(4, { campaign: 3, definition: {} });
    await addRun(5, { campaign: 9, account: 2 });
    expect((await read()).map(({ id }) => id)).toEqual([1, 2]);
    expect((await read(3)).map(({ id }) => id)).toEqual([4, 3]);
  });

  it('compare goal events as they are stored, whichever Persian letters were typed', async () => {
    await addRun(1, { definition: goal('خريد كالا') });
    await addRun(2, { campaign: 2, definition: goal('خرید  کالا') });
    const runs = await read();
    expect(runs.map((run) => run.goal?.event)).toEqual(['خرید کالا', 'خرید کالا']);
  });

  it('do not compete with what ended more than the longest window before, or began so much later', async () => {
    await addRun(1, { frozen: 2000, finished: 1990 });
    await addRun(2, { campaign: 2, frozen: 2740, finished: 2721 });
    await addRun(3, { campaign: 2, frozen: 2740, finished: 2719 });
    await addRun(4, { campaign: 2, frozen: 1269, finished: 1 });
    await addRun(5, { campaign: 2, frozen: 1271, finished: 1 });
    expect((await read()).map(({ id }) => id).toSorted()).toEqual([1, 3, 5]);
  });
});

describe('the balance of a campaign', () => {
  const counted = (run: number, status: string, reason: string, messages: number) =>
    postgres.database.query('INSERT INTO campaign_run_counts VALUES ($1, $2, $3, $4)', [
      ...[run, status, reason, messages],
    ]);

  it('closes: what is planned has an outcome or is in flight', async () => {
    await addRun(1, { planned: 10 });
    await addRun(2, { planned: 5, finished: 0 });
    await addRun(3, { campaign: 2, planned: 7 });
    await counted(1, 'sent', '', 3);
    await counted(2, 'sent', '', 2);
    await counted(1, 'withheld', 'control_group', 1);
    await counted(1, 'skipped', 'no_address', 1);
    await counted(2, 'skipped', 'no_address', 1);
    await counted(2, 'skipped', 'suppressed', 1);
    await counted(2, 'failed', 'deadline', 1);
    await counted(3, 'sent', '', 7);
    expect(await readBalance(postgres.database, { accountId: 1, campaignId: 1 })).toEqual({
      ...{ planned: 15, sent: 5, failed: 1, withheld: 1, skipped: 3, in_flight: 5 },
      skipped_by_reason: { no_address: 2, suppressed: 1 },
      failed_by_reason: { deadline: 1 },
    });
  });

  it('is not that of another account’s campaign', async () => {
    await addRun(5, { campaign: 9, account: 2, planned: 3 });
    const found = await readBalance(postgres.database, { accountId: 1, campaignId: 9 });
    expect([found.planned, found.in_flight]).toEqual([0, 0]);
  });
});

describe('the stats of a campaign', () => {
  const stats = (people: Record<string, number>) =>
    readCampaignStats(
      {
        database: postgres.database,
        mergesOf: () => Promise.resolve('none'),
        countPeople: () =>
          Promise.resolve({
            ...{ opened: 4, clicked: 2, converted: 1, revenue: 9.5 },
            ...{ treated: 0, treated_converted: 0, control: 0, control_converted: 0, ...people },
          }),
      },
      { accountId: 1, campaignId: 1, now: NOW, signal: new AbortController().signal },
    );

  it('have an uplift once somebody is on both sides, which is significant when it excludes 0', async () => {
    await addRun(1, { planned: 10 });
    expect(await stats({ treated: 5 })).toMatchObject({ opened: 4, revenue: 9.5, uplift: null });
    const sides = { treated: 70, treated_converted: 56, control: 80, control_converted: 48 };
    const { uplift } = await stats(sides);
    expect(uplift).toMatchObject({ treated_rate: 0.8, control_rate: 0.6, significant: true });
    expect(uplift?.low).toBeCloseTo(0.0524, 4);
    const unclear = { treated: 9000, treated_converted: 540, control: 1000, control_converted: 45 };
    expect((await stats(unclear)).uplift?.significant).toBe(false);
  });

  it('ask nothing of the warehouse before an audience is frozen', async () => {
    await addRun(1, { frozen: undefined });
    expect(await stats({ treated: 5 })).toMatchObject({ planned: 0, opened: 0, uplift: null });
  });
});

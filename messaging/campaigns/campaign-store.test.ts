import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { drawnRuns } from '../../platform/testing/drawn-runs.ts';
import { CampaignStore, type Change } from './campaign-store.ts';
import type { CampaignDefinition } from './definition.ts';
import type { CampaignState, CampaignStatus, Command } from './state.ts';
import { statusOf } from './status.ts';
import { SHOW_STATUS } from './status-sql.ts';
import { DRAFT, play, type ModelCampaign } from './testing/model.ts';

const DEFINITION: CampaignDefinition = {
  ...{ name: 'یلدا', channel: 'sms', template_id: 7, template_version: 1, segment_id: 3 },
  ...{ control_percent: 0, category: 'marketing' },
};
const HOUR = 3_600_000;
const SETTINGS = { approvalRequired: false, maxActiveRuns: 3 };
const author = { accountId: 1, actor: 'key:5' };

let postgres: MigratedDatabase;
let store: CampaignStore;
let time: number;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0060']);
  await rows("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
}, 60_000);
beforeEach(async () => {
  await rows('DELETE FROM campaign_runs');
  await rows('DELETE FROM campaigns');
  await rows('DELETE FROM audit_lines');
  time = Date.now();
  store = new CampaignStore(postgres.database, () => time);
});
afterAll(() => postgres.close());

const rows = async (sql: string, values: unknown[] = []) =>
  (await postgres.database.query<Record<string, unknown>>(sql, values)).rows;

async function create(definition = DEFINITION): Promise<number> {
  const made = await store.create(author, definition);
  if (made === 'full') throw new Error(made);
  return made.id;
}

const change = (id: number, command: Command, settings = SETTINGS) =>
  store.change({ ...author, id }, settings, () => ({ command }));

describe('stored campaigns', () => {
  it('are listed newest change first, 200 at most, without those of other accounts', async () => {
    const first = await create({ ...DEFINITION, scheduled_at: '2027-01-01T00:00:00.000Z' });
    await rows(
      `INSERT INTO campaigns (account_id, name, channel, definition) SELECT 1 + n % 2, 'n', 'sms', '{}' FROM generate_series(1, 500) AS n`,
    );
    expect(await store.list(1)).toHaveLength(200);
    await change(first, { kind: 'submit' });
    const [newest] = await store.list(1);
    expect(newest).toMatchObject({
      ...{ id: first, name: 'یلدا', channel: 'sms', status: 'draft' },
      scheduled_at: '2027-01-01T00:00:00.000Z',
    });
    expect(Object.keys(newest ?? {})).toEqual([
      ...['id', 'name', 'channel', 'status', 'scheduled_at', 'created_at', 'updated_at'],
    ]);
  });

  it('belong to one account', async () => {
    const id = await create();
    expect(await store.find(2, id)).toBeUndefined();
    const outcome = await store.change({ ...author, accountId: 2, id }, SETTINGS, () => ({
      command: { kind: 'cancel' },
    }));
    expect(outcome).toEqual({ kind: 'not_found' });
  });

  it('are bounded per account, in number and in bytes', async () => {
    await rows(
      `INSERT INTO campaigns (account_id, name, channel, definition) SELECT 2, 'n', 'sms', '{}' FROM generate_series(1, 10000)`,
    );
    expect(await store.create({ ...author, accountId: 2 }, DEFINITION)).toBe('full');
    await rows(
      `INSERT INTO campaigns (account_id, name, channel, definition) SELECT 1, 'n', 'sms', to_json(repeat('x', 1048576)) FROM generate_series(1, 128)`,
    );
    expect(await store.create(author, DEFINITION)).toBe('full');
  });

  it('have an audit line of each change, and none of what was refused', async () => {
    const id = await create();
    await change(id, { kind: 'pause' });
    const sent = await change(id, { kind: 'send', scheduledAt: undefined });
    expect(sent).toMatchObject({ kind: 'changed', id, status: 'sending', version: 1 });
    expect(await rows('SELECT actor, action, details FROM audit_lines ORDER BY id')).toEqual([
      {
        ...{ actor: 'key:5', action: 'campaign.created' },
        details: { campaign_id: id, channel: 'sms' },
      },
      { actor: 'key:5', action: 'campaign.sent', details: { campaign_id: id, version: 1 } },
    ]);
  });

  it('keep the definition that a run was asked for with', async () => {
    const id = await create();
    await change(id, { kind: 'send', scheduledAt: time + HOUR });
    const definition = { ...DEFINITION, name: 'نوروز', template_version: 2 };
    await store.change({ ...author, id }, SETTINGS, () => ({
      ...{ command: { kind: 'edit' }, definition },
    }));
    const [run] = await rows('SELECT definition, version, state, cause FROM campaign_runs');
    expect(run).toEqual({
      ...{ definition: DEFINITION, version: 1, state: 'scheduled', cause: 'send' },
    });
    expect(await store.find(1, id)).toMatchObject({ definition, version: 2, status: 'scheduled' });
    expect((await store.list(1))[0]).toMatchObject({ name: 'نوروز' });
  });

  it('send no more runs than their account may, at a time and a day', async () => {
    const id = await create();
    const send: Command = { kind: 'send', scheduledAt: undefined };
    for (let at = 0; at < 3; at++) expect((await change(id, send)).kind).toBe('changed');
    expect(await change(id, send)).toEqual({ kind: 'refused', refusal: 'too_many_runs' });
    await rows(`UPDATE campaign_runs SET state = 'finished', finished_at = now()`);
    await rows(
      `INSERT INTO campaign_runs (campaign_id, account_id, cause, state, due_at, definition, version) SELECT $1, 1, 'send', 'finished', now(), '{}', 1 FROM generate_series(1, 997)`,
      [id],
    );
    expect(await change(id, send)).toEqual({ kind: 'refused', refusal: 'too_many_runs' });
    await rows(`UPDATE campaign_runs SET created_at = now() - interval '25 hours' WHERE id = $1`, [
      (await rows('SELECT max(id) AS id FROM campaign_runs'))[0]?.['id'],
    ]);
    expect((await change(id, send)).kind).toBe('changed');
  });
});

describe('a change of a campaign', () => {
  it('that another one overtakes is decided anew', async () => {
    const id = await create();
    const seen: string[] = [];
    const outcome = await store.change({ ...author, id }, SETTINGS, async ({ status }) => {
      seen.push(status);
      if (seen.length === 1) await change(id, { kind: 'cancel' });
      return { command: { kind: 'submit' } };
    });
    expect(seen).toEqual(['draft', 'cancelled']);
    expect(outcome).toEqual({ kind: 'refused', refusal: 'not_submittable' });
  });

  it('that a worker overtakes is decided anew', async () => {
    const id = await create();
    await change(id, { kind: 'send', scheduledAt: undefined });
    let calls = 0;
    const outcome = await store.change({ ...author, id }, SETTINGS, async () => {
      if (calls++ === 0)
        await rows(
          `WITH moved AS (UPDATE campaign_runs SET state = 'finished', finished_at = now() RETURNING id, campaign_id, state), shown AS (${SHOW_STATUS}) SELECT id FROM moved`,
        );
      return { command: { kind: 'pause' } };
    });
    expect(outcome).toEqual({ kind: 'refused', refusal: 'not_pausable' });
    expect((await store.find(1, id))?.status).toBe('sent');
  });

  it('is given up when others overtake it again and again', async () => {
    const id = await create();
    const overtaken = store.change({ ...author, id }, SETTINGS, async () => {
      await rows('UPDATE campaigns SET updated_at = now()');
      return { command: { kind: 'submit' } };
    });
    await expect(overtaken).rejects.toThrow('was changed 5 times');
  });

  it('happens once when it is asked for twice at a time', async () => {
    const id = await create();
    await change(id, { kind: 'send', scheduledAt: undefined });
    const both = await Promise.all([
      change(id, { kind: 'cancel' }),
      change(id, { kind: 'cancel' }),
    ]);
    expect(both.map(({ kind }) => kind).sort()).toEqual(['changed', 'refused']);
    expect(
      await rows(`SELECT action FROM audit_lines WHERE action = 'campaign.cancelled'`),
    ).toHaveLength(1);
  });

  it('may find a problem of its own', async () => {
    const id = await create();
    const outcome = await store.change({ ...author, id }, SETTINGS, () => ({ problem: 'gone' }));
    expect(outcome).toEqual({ kind: 'problem', problem: 'gone' });
  });
});

describe('the runs of a campaign', () => {
  const insert = (id: number, state: string, more = '') =>
    rows(
      `INSERT INTO campaign_runs (campaign_id, account_id, cause, state, due_at, definition, version, deadline_at) VALUES ($1, 1, 'send', $2, now() - interval '2 hours', '{}', 1, now() + interval '1 hour' ${more})`,
      [id, state],
    );
  const runs = () =>
    rows(
      'SELECT state, paused, cancelled, confirmed_at IS NOT NULL AS confirmed, finished_at IS NOT NULL AS ended FROM campaign_runs ORDER BY id',
    );

  it('are paused and resumed, with their time for retries', async () => {
    const id = await create();
    for (const state of ['scheduled', 'sending', 'finished']) await insert(id, state);
    await rows(`UPDATE campaigns SET status = 'sending'`);
    await change(id, { kind: 'pause' });
    expect((await runs()).map(({ paused }) => paused)).toEqual([true, true, false]);
    await change(id, { kind: 'resume' });
    expect(await runs()).toMatchObject([
      { state: 'scheduled', paused: false, confirmed: true },
      { state: 'sending', paused: false, confirmed: false },
      { state: 'finished', paused: false, confirmed: false },
    ]);
    const [{ left } = { left: 0 }] = await rows(
      `SELECT min(deadline_at - now()) > interval '23 hours' AS left FROM campaign_runs WHERE state = 'sending'`,
    );
    expect(left).toBe(true);
  });

  it('end at once when they are cancelled before they began, and otherwise skip who waits', async () => {
    const id = await create();
    for (const state of ['scheduled', 'confirm', 'planning', 'sending', 'failed'])
      await insert(id, state);
    await rows(`UPDATE campaigns SET status = 'sending', next_at = now() + interval '1 day'`);
    await change(id, { kind: 'cancel' });
    expect(await runs()).toMatchObject([
      { state: 'cancelled', cancelled: true, ended: true },
      { state: 'cancelled', cancelled: true, ended: true },
      { state: 'planning', cancelled: true, ended: false },
      { state: 'sending', cancelled: true, ended: false },
      { state: 'failed', cancelled: false },
    ]);
    expect((await store.find(1, id))?.nextAt).toBeUndefined();
  });

  it('that are too late begin when a person confirms them', async () => {
    const id = await create();
    for (const state of ['confirm', 'sending']) await insert(id, state);
    await change(id, { kind: 'confirm' });
    expect(await runs()).toMatchObject([
      { state: 'scheduled', confirmed: true },
      { state: 'sending', confirmed: false },
    ]);
  });
});

describe('what the store does', () => {
  const recurrence = {
    ...{ rule: 'FREQ=DAILY', starts_at: '2027-01-01T00:00:00Z', time_zone: 'Asia/Tehran' },
  };
  const command = fc.constantFrom<Command[]>(
    ...[{ kind: 'submit' as const }, { kind: 'approve' as const }, { kind: 'edit' as const }],
    ...[{ kind: 'pause' as const }, { kind: 'resume' as const }, { kind: 'cancel' as const }],
    { kind: 'send', scheduledAt: undefined },
    { kind: 'send', scheduledAt: 5e12 },
    { kind: 'set_recurrence', recurrence, nextAt: 5e12 },
    { kind: 'set_recurrence', recurrence: { ...recurrence, rule: 'FREQ=WEEKLY' }, nextAt: 5e12 },
    { kind: 'remove_recurrence' },
  );
  const facts = ({
    runs,
    ...state
  }: ModelCampaign | (CampaignState & Record<string, unknown>)) => ({
    ...{ status: state.status, version: state.version, nextAt: state.nextAt },
    ...{ submittedVersion: state.submittedVersion, approvedVersion: state.approvedVersion },
    ...{ recurrence: state.recurrence, lastEnd: state.lastEnd },
    runs: runs.map(({ state: run, paused, cancelled, dueAt }) => [run, paused, cancelled, dueAt]),
  });

  it('is what the model does, whatever people ask for', async () => {
    const asked = fc.array(command, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(asked, fc.boolean(), async (commands, approvalRequired) => {
        const rules = { approvalRequired };
        const id = await create();
        const start = time;
        const kinds: string[] = [];
        for (const one of commands) {
          const more: Partial<Change> = one.kind === 'edit' ? { definition: DEFINITION } : {};
          const outcome = await store.change(
            { ...author, id },
            { ...SETTINGS, ...rules, maxActiveRuns: 100 },
            () => ({ command: one, ...more }),
          );
          kinds.push(outcome.kind);
          time += 60_000;
        }
        const stored = await store.find(1, id);
        const model = play(commands, { ...rules, now: start }, DRAFT);
        expect(stored && facts({ ...stored })).toEqual(facts(model.state));
        expect(kinds.at(-1)).toBe(model.last?.kind === 'refused' ? 'refused' : 'changed');
        await rows('DELETE FROM campaign_runs');
      }),
      { numRuns: drawnRuns(60) },
    );
  }, 60_000);

  it('shows the same status in SQL as in the model, whatever workers do', async () => {
    const state = fc.constantFrom(
      'scheduled',
      'confirm',
      'planning',
      'sending',
      'finished',
      'failed',
    );
    const run = fc.record({ state, cancelled: fc.boolean(), isDue: fc.boolean() });
    const status = fc.constantFrom<CampaignStatus[]>(
      'draft',
      'scheduled',
      'sending',
      'paused',
      'cancelled',
      'sent',
    );
    const to = fc.constantFrom('planning', 'confirm', 'finished', 'failed');
    const shown = fc.record({
      status,
      run,
      to,
      others: fc.array(run, { maxLength: 3 }),
      isArmed: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(shown, async (given) => {
        const id = await create();
        await rows('UPDATE campaigns SET status = $2, next_at = $3 WHERE id = $1', [
          ...[id, given.status, given.isArmed ? new Date(5e12).toISOString() : null],
        ]);
        // The clock of PGlite counts milliseconds: runs that have ended did so an hour ago.
        for (const one of [{ ...given.run, state: 'scheduled' }, ...given.others])
          await rows(
            `INSERT INTO campaign_runs (campaign_id, account_id, cause, state, cancelled, due_at, definition, version, finished_at) VALUES ($1, 1, 'send', $2, $3, now() + make_interval(hours => $4), '{}', 1, CASE WHEN $2 IN ('finished', 'failed') THEN clock_timestamp() - interval '1 hour' END)`,
            [id, one.state, one.cancelled, one.isDue ? -1 : 1],
          );
        await rows(
          `WITH moved AS (UPDATE campaign_runs SET state = $2, finished_at = CASE WHEN $2 IN ('finished', 'failed', 'cancelled') THEN clock_timestamp() END
             WHERE id = (SELECT min(id) FROM campaign_runs WHERE campaign_id = $1) RETURNING id, campaign_id, state), shown AS (${SHOW_STATUS}) SELECT id FROM moved`,
          [id, given.run.cancelled ? 'cancelled' : given.to],
        );
        const stored = await store.find(1, id);
        const expected = stored && statusOf({ ...stored, status: given.status }, time);
        await rows('DELETE FROM campaign_runs');
        expect(stored?.status).toBe(expected);
      }),
      { numRuns: drawnRuns(150) },
    );
  }, 60_000);
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CampaignStore } from '../../messaging/campaigns/campaign-store.ts';
import type { CampaignDefinition } from '../../messaging/campaigns/definition.ts';
import type { Command } from '../../messaging/campaigns/state.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import {
  campaignApprove,
  campaignCancel,
  campaignConfirm,
  campaignPause,
  campaignResume,
  campaignShow,
  updateCampaign,
} from './campaign.ts';
import type { AdminCommand } from './command.ts';
import { createTemplate, updateTemplate } from './template.ts';

const AUDIENCE = { attribute: 'city', op: 'eq', value: 'تهران' };
const OPEN = { approvalRequired: false, maxActiveRuns: 10 };
const author = { accountId: 1, actor: 'key:5' };
let postgres: MigratedDatabase;
let store: CampaignStore;
let templateId: number;
let id: number;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0010', '0012', '0020', '0060']);
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
  const sent = { name: 't', channel: 'sms', category: 'marketing', text: 'سلام' };
  const made = await createTemplate(postgres.database, { accountId: 1, sent });
  templateId = Number(made['template_id']);
  store = new CampaignStore(postgres.database, Date.now);
}, 60_000);
afterAll(() => postgres.close());

beforeEach(async () => {
  const definition: CampaignDefinition = {
    ...{ name: 'یلدا', channel: 'sms', template_id: templateId, template_version: 1 },
    ...{ audience: AUDIENCE, control_percent: 0, category: 'marketing' },
  };
  const made = await store.create(author, definition);
  if (made === 'full') throw new Error(made);
  ({ id } = made);
});

const change = (command: Command) => store.change({ ...author, id }, OPEN, () => ({ command }));
const run = (command: AdminCommand, account = '1') =>
  command.run(
    { values: { account, id: String(id) }, words: [] },
    { database: postgres.database as never, kafka: {} as never, env: {} },
  );
const update = (sent: unknown) => updateCampaign(postgres.database, { accountId: 1, id }, sent);

describe('admin campaign', () => {
  it('approves the version that was submitted, and no other', async () => {
    await expect(run(campaignApprove)).rejects.toThrow(
      'this version of the campaign was not submitted',
    );
    await change({ kind: 'submit' });
    expect(await run(campaignApprove)).toEqual({ id, status: 'draft', approved_version: 1 });
    await change({ kind: 'submit' });
    await update({ name: 'نوروز' });
    await expect(run(campaignApprove)).rejects.toThrow('was not submitted');
  });

  it('pauses, resumes and cancels', async () => {
    await expect(run(campaignPause)).rejects.toThrow(
      'only a campaign that is scheduled or sending',
    );
    await change({ kind: 'send', scheduledAt: undefined });
    expect(await run(campaignPause)).toEqual({ id, status: 'paused' });
    expect(await run(campaignResume)).toEqual({ id, status: 'sending' });
    await expect(run(campaignResume)).rejects.toThrow('the campaign is not paused');
    expect(await run(campaignCancel)).toEqual({ id, status: 'cancelled' });
    await expect(run(campaignCancel)).rejects.toThrow('the campaign has ended');
  });

  it('lets a late run begin', async () => {
    await change({ kind: 'send', scheduledAt: undefined });
    await expect(run(campaignConfirm)).rejects.toThrow('no run of the campaign waits');
    await postgres.database.query(
      `UPDATE campaign_runs SET state = 'confirm', due_at = now() - interval '2 hours' WHERE campaign_id = $1`,
      [id],
    );
    expect(await run(campaignConfirm)).toEqual({ id, status: 'sending' });
  });

  it('knows whose campaign it is', async () => {
    for (const command of [campaignApprove, campaignShow, campaignCancel])
      await expect(run(command, '2')).rejects.toThrow(`the account 2 has no campaign ${id}`);
  });

  it('writes an audit line of the operator', async () => {
    await run(campaignCancel);
    const { rows } = await postgres.database.query(
      'SELECT actor, action, details FROM audit_lines ORDER BY id DESC LIMIT 1',
    );
    expect(rows).toEqual([
      {
        ...{ actor: 'operator', action: 'campaign.cancelled' },
        details: { campaign_id: id, version: 1 },
      },
    ]);
  });
});

describe('admin campaign update', () => {
  it('changes the fields that are given; an approval is stale then', async () => {
    await change({ kind: 'submit' });
    await run(campaignApprove);
    const goal = { event: 'order_completed', window_hours: 24 };
    expect(await update({ goal, control_percent: 10 })).toEqual({
      id,
      version: 2,
      status: 'draft',
    });
    expect(await run(campaignShow)).toMatchObject({
      ...{ version: 2, submitted_version: 1, approved_version: 1 },
      definition: { name: 'یلدا', audience: AUDIENCE, goal, control_percent: 10 },
    });
    await update({ goal: null });
    expect((await run(campaignShow))['definition']).not.toHaveProperty('goal');
  });

  it('pins the newest version of a template that is named, and keeps it otherwise', async () => {
    const sent = { text: 'دو' };
    await updateTemplate(postgres.database, { id: templateId, account: 1, sent });
    await update({ name: 'نوروز' });
    expect(await run(campaignShow)).toMatchObject({ definition: { template_version: 1 } });
    await update({ template_id: templateId });
    const { definition } = (await run(campaignShow)) as { definition: CampaignDefinition };
    expect(definition.template_version).toBeGreaterThan(1);
  });

  it('has either a segment or an audience', async () => {
    const { rows } = await postgres.database.query<{ id: string }>(
      `INSERT INTO segments (account_id, name, definition) VALUES (1, 's', '{}') RETURNING id`,
    );
    const segment = Number(rows[0]?.id);
    await update({ segment_id: segment });
    const { definition } = (await run(campaignShow)) as { definition: object };
    expect(definition).toMatchObject({ segment_id: segment });
    expect(definition).not.toHaveProperty('audience');
    await update({ audience: AUDIENCE });
    expect((await run(campaignShow))['definition']).not.toHaveProperty('segment_id');
  });

  it('says which runs keep the former definition', async () => {
    const sent = await change({ kind: 'send', scheduledAt: Date.now() + 3_600_000 });
    const runId = sent.kind === 'changed' ? sent.runId : undefined;
    expect(await update({ name: 'نوروز' })).toMatchObject({ unchanged_runs: [runId] });
    expect(await run(campaignShow)).toMatchObject({
      active_runs: [{ run_id: runId, state: 'scheduled', paused: false }],
    });
  });

  it('refuses what is wrong, and what changes nothing', async () => {
    await expect(update({ control_percent: 99 })).rejects.toThrow('control_percent is not');
    await expect(update({ channel: 'push' })).rejects.toThrow('is for the channel sms');
    await expect(update({ segment_id: 99 })).rejects.toThrow('there is no segment 99');
    await expect(update([])).rejects.toThrow('the definition is not a JSON object');
    await expect(update({ name: 'یلدا' })).rejects.toThrow('nothing to change');
    expect(await run(campaignShow)).toMatchObject({ version: 1 });
  });
});

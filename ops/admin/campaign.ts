import { isJsonObject, type JsonObject } from '../../events/json.ts';
import {
  CampaignStore,
  type Change,
  type ChangedCampaign,
} from '../../messaging/campaigns/campaign-store.ts';
import type { CampaignDefinition } from '../../messaging/campaigns/definition.ts';
import { readCampaign } from '../../messaging/campaigns/read-definition.ts';
import type { Command, Refusal } from '../../messaging/campaigns/state.ts';
import type { StoredCampaign } from '../../messaging/campaigns/stored-campaign.ts';
import { parseSettingTexts } from '../../messaging/settings/setting-texts.ts';
import { readSettingTexts } from '../../messaging/settings/settings-store.ts';
import { TemplateStore } from '../../messaging/templates/template-store.ts';
import { segmentStore } from '../../account-api/segments/segment-store.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption } from './command.ts';
import { readJsonInput } from './read-input.ts';

const UPDATE_USAGE = 'campaign update --account ID --id N < campaign.json';

/**
 * `./ravand admin campaign update`: changes the fields that are given, null removes one. Any change
 * makes an approval stale. Runs that were asked for before keep the former definition.
 */
export const campaignUpdate = adminCommand({
  name: 'campaign update',
  usage: UPDATE_USAGE,
  options: { account: REQUIRED, id: REQUIRED },
  async run(line, { database }) {
    const of = campaignOption(line.values);
    return await updateCampaign(database, of, await readJsonInput(UPDATE_USAGE));
  },
});

/** Refused for a version that nobody submitted: it may have been changed while it was read. */
export const campaignApprove = changing('approve', ({ version }) => ({
  approved_version: version,
}));
export const campaignPause = changing('pause');
export const campaignResume = changing('resume');
/** For good: who waits is skipped. */
export const campaignCancel = changing('cancel');
/** Runs that are more than an hour late begin nevertheless. */
export const campaignConfirm = changing('confirm');

/** `./ravand admin campaign show`: what the management host does not show of a campaign. */
export const campaignShow = adminCommand({
  name: 'campaign show',
  usage: 'campaign show --account ID --id N',
  options: { account: REQUIRED, id: REQUIRED },
  async run(line, { database }) {
    const of = campaignOption(line.values);
    const campaign = await new CampaignStore(database, Date.now).find(of.accountId, of.id);
    if (!campaign) throw new CommandError(notFound(of));
    return shownCampaign(campaign);
  },
});

function changing(
  kind: 'approve' | 'pause' | 'resume' | 'cancel' | 'confirm',
  more: (changed: ChangedCampaign) => Record<string, unknown> = () => ({}),
) {
  return adminCommand({
    name: `campaign ${kind}`,
    usage: `campaign ${kind} --account ID --id N`,
    options: { account: REQUIRED, id: REQUIRED },
    async run(line, { database }) {
      const command: Command = { kind };
      const of = campaignOption(line.values);
      const changed = await changeCampaign(database, of, () => ({ command }));
      return { id: changed.id, status: changed.status, ...more(changed) };
    },
  });
}

interface CampaignOption {
  accountId: number;
  id: number;
}

function campaignOption(values: Parameters<typeof idOption>[0]): CampaignOption {
  return { accountId: idOption(values, 'account'), id: idOption(values, 'id') };
}

/** Throws CommandError. */
export async function updateCampaign(
  database: Pick<Database, 'query'>,
  of: CampaignOption,
  sent: unknown,
): Promise<Record<string, unknown>> {
  if (!isJsonObject(sent)) throw new CommandError('the definition is not a JSON object');
  const segments = segmentStore(database as Database);
  const templates = new TemplateStore(database);
  let former: StoredCampaign | undefined;
  const changed = await changeCampaign(database, of, async (campaign) => {
    former = campaign;
    const read = await readCampaign(
      { accountId: of.accountId, sent: editedDefinition(campaign.definition, sent) },
      {
        newestTemplate: (id) => templates.newest(id),
        hasSegment: async (accountId, id) =>
          (await segments.find(accountId, String(id))) !== undefined,
      },
    );
    if (!read.ok) return { problem: read.message };
    const { definition } = read;
    const isSame = JSON.stringify(definition) === JSON.stringify(campaign.definition);
    if (isSame) return { problem: 'nothing to change: the definition already is as given' };
    return { command: { kind: 'edit' }, definition };
  });
  const { id, version, status } = changed;
  const unchanged = former?.runs.map((run) => run.id) ?? [];
  return { id, version, status, ...(unchanged.length > 0 ? { unchanged_runs: unchanged } : {}) };
}

/**
 * The stored definition with the fields that were sent. Another template is pinned to its newest
 * version; of segment and audience the one that was sent counts.
 */
function editedDefinition(stored: CampaignDefinition, sent: JsonObject): JsonObject {
  const before: JsonObject = { ...stored };
  if (isSent(sent['template_id'])) delete before['template_version'];
  if (isSent(sent['segment_id'])) delete before['audience'];
  if (isSent(sent['audience'])) delete before['segment_id'];
  return { ...before, ...sent };
}

function isSent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

async function changeCampaign(
  database: Pick<Database, 'query'>,
  of: CampaignOption,
  changeOf: (
    campaign: StoredCampaign,
  ) => Change | { problem: string } | Promise<Change | { problem: string }>,
): Promise<ChangedCampaign> {
  const settings = parseSettingTexts(await readSettingTexts(database, of.accountId));
  const store = new CampaignStore(database, Date.now);
  const outcome = await store.change({ ...of, actor: 'operator' }, settings, changeOf);
  switch (outcome.kind) {
    case 'changed':
      return outcome;
    case 'not_found':
      throw new CommandError(notFound(of));
    case 'problem':
      throw new CommandError(outcome.problem);
    case 'refused':
      throw new CommandError(REFUSALS[outcome.refusal]);
  }
}

function notFound({ accountId, id }: CampaignOption): string {
  return `the account ${accountId} has no campaign ${id}`;
}

const REFUSALS: Readonly<Record<Refusal, string>> = {
  not_submitted:
    'this version of the campaign was not submitted: its author asks with POST /v1/campaigns/{id}/submit',
  not_pausable: 'only a campaign that is scheduled or sending can be paused',
  not_paused: 'the campaign is not paused',
  not_cancellable: 'the campaign has ended: nothing waits to be sent',
  nothing_to_confirm: 'no run of the campaign waits for a confirmation',
  approval_required: 'the account requires an approval of the campaign',
  approval_stale: 'the campaign was changed after its approval',
  not_submittable: 'only a campaign that is a draft or paused can be submitted',
  too_many_runs: 'the account has reached its limit of runs',
};

function shownCampaign(campaign: StoredCampaign): Record<string, unknown> {
  const { id, accountId, status, version, definition, recurrence, nextAt, runs } = campaign;
  const time = (at: number) => new Date(at).toISOString();
  return {
    ...{ id, account_id: accountId, status, version },
    submitted_version: campaign.submittedVersion ?? null,
    approved_version: campaign.approvedVersion ?? null,
    definition,
    recurrence: recurrence ?? null,
    next_at: nextAt === undefined ? null : time(nextAt),
    active_runs: runs.map(({ id: runId, state, dueAt, paused, cancelled }) => ({
      ...{ run_id: runId, state, due_at: time(dueAt), paused, cancelled },
    })),
  };
}

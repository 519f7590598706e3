import { CampaignStore, type ChangeOutcome } from '../../messaging/campaigns/campaign-store.ts';
import type { Command, Refusal } from '../../messaging/campaigns/state.ts';
import { parseSettingTexts } from '../../messaging/settings/setting-texts.ts';
import { readSettingTexts } from '../../messaging/settings/settings-store.ts';
import { numericPathId } from '../../platform/http/path-id.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf } from '../sessions/authenticate.ts';

/** What only the panel may ask of a campaign (management 1). */
export type PanelCommand = Extract<
  Command['kind'],
  'approve' | 'pause' | 'resume' | 'cancel' | 'confirm'
>;

/** POST /v1/campaigns/{id}/approve, pause, resume, cancel and confirm: 200 with its status. */
export function changeCampaign(kind: PanelCommand) {
  return async (request: MemberRequest, services: Services): Promise<Answer> => {
    const { caller, params, now } = request;
    const { database } = services;
    const id = numericPathId(params['id']);
    if (id === undefined) return refuse('bad_id');
    const { accountId, memberId } = actorOf(caller);
    return await orUnavailable({ request, services, code: 'campaign_store' }, async () => {
      const settings = parseSettingTexts(await readSettingTexts(database, accountId));
      const of = { accountId, id, actor: `member:${memberId}` };
      const store = new CampaignStore(database, () => now);
      return answerChange(await store.change(of, settings, () => ({ command: { kind } })));
    });
  };
}

function answerChange(outcome: ChangeOutcome): Answer {
  switch (outcome.kind) {
    case 'changed':
      return answer({ id: outcome.id, status: outcome.status });
    case 'not_found':
      return refuse('not_found');
    case 'problem':
      return refuse('invalid_request', { message: outcome.problem });
    case 'refused':
      return refuse('invalid_request', { message: REFUSALS[outcome.refusal] });
  }
}

const REFUSALS: Readonly<Record<Refusal, string>> = {
  not_submitted: 'this version of the campaign was not submitted: its author submits it first',
  not_pausable: 'only a campaign that is scheduled or sending can be paused',
  not_paused: 'the campaign is not paused',
  not_cancellable: 'the campaign has ended: nothing waits to be sent',
  nothing_to_confirm: 'no run of the campaign waits for a confirmation',
  approval_required: 'the account requires an approval of the campaign',
  approval_stale: 'the campaign was changed after its approval',
  not_submittable: 'only a campaign that is a draft or paused can be submitted',
  too_many_runs: 'the account has reached its limit of runs',
};

import { nextInstances } from '../../messaging/campaigns/read-recurrence.ts';
import type { StoredCampaign } from '../../messaging/campaigns/stored-campaign.ts';
import { answer, reject, type Answer } from '../errors/domain-error.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';
import { campaignId, stored } from './shared.ts';

/** GET /v1/campaigns (management 2.6): one account's newest 200, without paging. */
export function listCampaigns(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('campaigns_unavailable', { request, services }, async (accountId) =>
    answer({ campaigns: await services.campaigns.store.list(accountId) }),
  );
}

/** GET /v1/campaigns/{id}: its definition, recurrence and what became of its messages. */
export function getCampaign(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('campaigns_unavailable', { request, services }, async (accountId) => {
    const id = campaignId(request);
    if (id === undefined) return reject('bad_id', { message: 'invalid campaign id' });
    const campaign = await services.campaigns.store.find(accountId, id);
    if (!campaign) return reject('not_found', { message: 'campaign not found' });
    const { now, signal } = request;
    const of = { accountId, campaignId: id, now, signal };
    return answer(viewOf(campaign, await services.campaigns.readStats(of)));
  });
}

function viewOf(campaign: StoredCampaign, stats: unknown) {
  const { id, status, definition, createdAt, updatedAt } = campaign;
  const { name, channel, scheduled_at = null, segment_id = null, audience = null } = definition;
  const { template_id, template_version, control_percent, category } = definition;
  const { goal = null, utm = null } = definition;
  return {
    ...{ id, name, channel, status, scheduled_at },
    ...{ created_at: timeOf(createdAt), updated_at: timeOf(updatedAt) },
    ...{ template_id, template_version, segment_id, audience },
    ...{ control_percent, goal, category, utm },
    recurrence: recurrenceOf(campaign),
    stats,
  };
}

/** `next` is empty when the recurrence has ended or the campaign was cancelled. */
function recurrenceOf({ recurrence, nextAt }: StoredCampaign) {
  if (!recurrence) return null;
  const next = nextAt === undefined ? [] : nextInstances(recurrence, nextAt - 1);
  return { ...recurrence, next: next.map(timeOf) };
}

export function timeOf(at: number): string {
  return new Date(at).toISOString();
}

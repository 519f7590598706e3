import { isJsonObject } from '../../events/json.ts';
import { readCampaign, referenceProblem } from '../../messaging/campaigns/read-definition.ts';
import { readRecurrence } from '../../messaging/campaigns/read-recurrence.ts';
import { answer, reject, type Answer } from '../errors/domain-error.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';
import { timeOf } from './read-handlers.ts';
import {
  authorOf,
  campaignId,
  gateSettings,
  referencePorts,
  rejectChange,
  stored,
} from './shared.ts';

const TOO_MANY = 'campaign: the account has reached its limit of campaigns';

/** POST /v1/campaigns: 201 with a draft. A repeated request makes another one (management 7.7). */
export function createCampaign(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('campaign_unavailable', { request, services }, async (accountId) => {
    const { body } = request;
    if (!isJsonObject(body)) return reject('malformed_json');
    const read = await readCampaign({ accountId, sent: body }, referencePorts(services));
    if (!read.ok && read.code === 'invalid_channel')
      return reject('invalid_channel', { message: read.message, details: { field: 'channel' } });
    if (!read.ok) return reject(read.code, { message: `campaign: ${read.message}` });
    const author = { accountId, actor: request.caller.actor };
    const made = await services.campaigns.store.create(author, read.definition);
    if (made === 'full') return reject('campaign_invalid', { message: TOO_MANY });
    return answer({ id: made.id, status: 'draft' }, { status: 201 });
  });
}

/**
 * POST /v1/campaigns/{id}/send: 202 with the run that begins now, or at scheduled_at. When it
 * cannot be known whether an approval is missing, nothing is sent (management 4.2).
 */
export function sendCampaign(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('campaign_unavailable', { request, services }, async (accountId) => {
    const id = campaignId(request);
    if (id === undefined) return reject('bad_id');
    const settings = await approvalGate(accountId, { request, services });
    if ('ok' in settings) return settings;
    const outcome = await services.campaigns.store.change(
      authorOf(request, id),
      settings,
      ({ definition: { scheduled_at: at } }) => ({
        command: { kind: 'send', scheduledAt: at === undefined ? undefined : Date.parse(at) },
      }),
    );
    if (outcome.kind !== 'changed') return rejectChange(outcome);
    return answer({ id, run_id: outcome.runId, status: outcome.status }, { status: 202 });
  });
}

/** POST /v1/campaigns/{id}/submit: asks for an approval of the present version. */
export function submitCampaign(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('approval_unavailable', { request, services }, async (accountId) => {
    const id = campaignId(request);
    if (id === undefined) return reject('bad_id');
    const settings = await gateSettings(accountId, services);
    const outcome = await services.campaigns.store.change(
      authorOf(request, id),
      settings,
      async ({ definition, status }) => {
        // What cannot be submitted anyway gets that answer.
        const isOpen = status === 'draft' || status === 'paused';
        const of = { accountId, definition };
        const { problem } = isOpen ? await referenceProblem(of, referencePorts(services)) : {};
        return problem === undefined ? { command: { kind: 'submit' } } : { problem };
      },
    );
    if (outcome.kind !== 'changed') return rejectChange(outcome);
    return answer({ id, status: outcome.status }, { status: 202 });
  });
}

/** PUT /v1/campaigns/{id}/recurrence: arms the campaign; its next instances. */
export function setRecurrence(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('campaign_unavailable', { request, services }, async (accountId) => {
    const id = campaignId(request);
    if (id === undefined) return reject('bad_id');
    if (!isJsonObject(request.body)) return reject('malformed_json');
    const read = readRecurrence(request.body, request.now);
    if (!read.ok) return reject('campaign_invalid', { message: `recurrence: ${read.message}` });
    const settings = await approvalGate(accountId, { request, services });
    if ('ok' in settings) return settings;
    const { recurrence, next } = read;
    const outcome = await services.campaigns.store.change(authorOf(request, id), settings, () => ({
      command: { kind: 'set_recurrence', recurrence, nextAt: next[0] },
    }));
    if (outcome.kind !== 'changed') return rejectChange(outcome);
    return answer({ id, ...recurrence, next: next.map(timeOf) });
  });
}

/** DELETE /v1/campaigns/{id}/recurrence: 204, also when there was none. */
export function removeRecurrence(request: ApiRequest, services: Services): Promise<Answer> {
  return stored('campaign_unavailable', { request, services }, async (accountId) => {
    const id = campaignId(request);
    if (id === undefined) return reject('bad_id');
    const settings = await gateSettings(accountId, services);
    const outcome = await services.campaigns.store.change(authorOf(request, id), settings, () => ({
      command: { kind: 'remove_recurrence' },
    }));
    if (outcome.kind !== 'changed') return rejectChange(outcome);
    return answer(undefined, { status: 204 });
  });
}

/** The settings that a send obeys, or the 503 when they cannot be read. */
async function approvalGate(
  accountId: number,
  { request, services }: { request: ApiRequest; services: Services },
) {
  try {
    return await gateSettings(accountId, services);
  } catch (err) {
    const facts = { err, code: 'approval_unreadable', account_id: accountId };
    services.log.warn(
      { ...facts, trace: request.trace },
      'the settings of an account cannot be read; its campaign was not sent',
    );
    return reject('approval_unavailable');
  }
}

import type { ChangeOutcome } from '../../messaging/campaigns/campaign-store.ts';
import type { DefinitionPorts } from '../../messaging/campaigns/read-definition.ts';
import type { Refusal } from '../../messaging/campaigns/state.ts';
import type { MessageSettings } from '../../messaging/settings/settings.ts';
import { numericPathId, pathId } from '../../platform/http/path-id.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import { reject, type Answer } from '../errors/domain-error.ts';
import { answerOrUnavailable } from '../http/answer-or-unavailable.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';

export interface Context {
  request: ApiRequest;
  services: Services;
}

/** A failure of a store is a warning and the route's 503. */
export function stored(
  error: ErrorCode,
  context: Context,
  work: (accountId: number) => Promise<Answer>,
): Promise<Answer> {
  const message = 'the campaign store failed';
  return answerOrUnavailable({ ...context, error, code: error, message, work });
}

/** The id in the path; undefined for anything that is not a positive integer. */
export function campaignId({ params }: ApiRequest): number | undefined {
  const text = pathId(params['id']);
  // No campaign has a number that JavaScript cannot hold.
  return text === undefined ? undefined : (numericPathId(text) ?? Number.MAX_SAFE_INTEGER);
}

/** Whose change it is: for the store, with the campaign. */
export function authorOf({ caller: { accountId, actor } }: ApiRequest, id: number) {
  return { accountId, actor, id };
}

export function referencePorts({ campaigns, segments }: Services): DefinitionPorts {
  return {
    newestTemplate: (templateId) => campaigns.templates.newest(templateId),
    hasSegment: async (accountId, segmentId) =>
      (await segments.find(accountId, String(segmentId))) !== undefined,
  };
}

/** The settings as this host obeys them: without the feature nobody needs an approval. */
export async function gateSettings(
  accountId: number,
  { campaigns, features }: Services,
): Promise<MessageSettings> {
  const settings = await campaigns.readSettings(accountId);
  return { ...settings, approvalRequired: settings.approvalRequired && features.campaign_approval };
}

const REFUSALS: Readonly<Partial<Record<Refusal, ErrorCode>>> = {
  approval_required: 'approval_required',
  approval_stale: 'approval_stale',
  not_submittable: 'not_submittable',
};
const TOO_MANY_RUNS =
  'this account has reached its limit of campaign runs, in progress or asked for in 24 hours; wait until one has ended';

/** The error of a change that did not happen. */
export function rejectChange(outcome: Exclude<ChangeOutcome, { kind: 'changed' }>): Answer {
  if (outcome.kind === 'not_found') return reject('not_found', { message: 'campaign not found' });
  if (outcome.kind === 'problem')
    return reject('campaign_invalid', { message: `campaign: ${outcome.problem}` });
  const code = REFUSALS[outcome.refusal];
  return code ? reject(code) : reject('budget_exhausted', { message: TOO_MANY_RUNS });
}

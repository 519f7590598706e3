import {
  createOnsite,
  endOnsite,
  listOnsite,
  readOnsite,
  resumeOnsite,
} from '../../account-api/onsite/onsite-store.ts';
import { RefusedChange } from '../../events/channels/fields.ts';
import {
  MAX_LIVE_CAMPAIGNS,
  type OnsiteCampaign,
} from '../../events/channels/onsite/definition.ts';
import { numericPathId } from '../../platform/http/path-id.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import type { Caller } from '../sessions/authenticate.ts';

const SHOWN = 500;

/** GET /v1/onsite-campaigns: newest first. */
export async function listOnsiteCampaigns(
  { caller }: MemberRequest,
  { store }: Services,
): Promise<Answer> {
  return answer({ campaigns: await listOnsite(store, caller.account.id, SHOWN) });
}

/**
 * POST /v1/onsite-campaigns: 201; gateways show it within seconds. The body is that of
 * `./ravand admin onsite create`.
 */
export async function createOnsiteCampaign(
  { caller, body }: MemberRequest,
  { store }: Services,
): Promise<Answer> {
  let campaign: OnsiteCampaign;
  try {
    campaign = readOnsite(body);
  } catch (error) {
    if (error instanceof RefusedChange)
      return refuse('invalid_request', { message: error.message });
    throw error;
  }
  const id = await createOnsite(store, { ...changeOf(caller), campaign });
  return id === undefined ? full() : answer({ id }, { status: 201 });
}

/** POST /v1/onsite-campaigns/{id}/pause and …/resume: what visitors see changes within seconds. */
export function setOnsiteShown(isShown: boolean) {
  return async ({ caller, params }: MemberRequest, { store }: Services): Promise<Answer> => {
    const id = numericPathId(params['id']);
    if (id === undefined) return refuse('bad_id');
    const change = { ...changeOf(caller), id };
    const isChanged = await (isShown ? resumeOnsite(store, change) : endOnsite(store, change));
    return isChanged ? answer({ id, enabled: isShown }) : refuse('not_found');
  };
}

function changeOf({ account, memberId }: Caller): { accountId: number; actor: string } {
  return { accountId: account.id, actor: `member:${memberId}` };
}

function full(): Answer {
  return refuse('invalid_request', {
    message: `an account has at most ${MAX_LIVE_CAMPAIGNS} live on-site campaigns: pause some`,
  });
}

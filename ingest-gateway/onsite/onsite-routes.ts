import { readAnswers, type Answers } from '../../events/channels/onsite/answers.ts';
import {
  interactionEvent,
  readInteraction,
  readResponse,
  type Interaction,
  type OnsiteAction,
} from '../../events/channels/onsite/interaction.ts';
import { visitorHash, visitorText } from '../../events/channels/onsite/visitor.ts';
import { RefusedChange } from '../../events/channels/fields.ts';
import type { IngestService } from '../../ingest/accept.ts';
import type { IngestResult } from '../../ingest/result.ts';
import type { ChannelRequest, ChannelRoute } from '../channels/channel-server.ts';
import { renderFailure, type Answer } from '../http/render.ts';
import type { LiveCampaign } from './catalogue.ts';
import type { FollowedCampaigns } from './follow-campaigns.ts';
import { listCampaigns } from './list-campaigns.ts';
import type { ShownCampaigns } from './shown-campaigns.ts';

export interface OnsitePorts {
  campaigns: Pick<FollowedCampaigns, 'catalogue' | 'memberships' | 'refresh'>;
  shown: Pick<ShownCampaigns, 'of' | 'add'>;
  service: Pick<IngestService, 'accept'>;
}

const OK: Answer = { status: 200, body: '{"status":"ok"}' };
const UNAVAILABLE = renderFailure({ code: 'unavailable' });
/** An answer is for one visitor at one moment. */
const NO_STORE = ['Cache-Control', 'no-store'];

/** The routes in the table of the ingest host. */
export const ONSITE_PATHS = {
  list: '/v1/onsite',
  event: '/v1/onsite/event',
  response: '/v1/onsite/response',
} as const;

const INTERACTION_FIELDS = ['campaign_id', 'user_id', 'anonymous_id', 'message_id'];

/** The routes of on-site campaigns (ingest 4.2, 7.4). */
export function onsiteRoutes(ports: OnsitePorts): ChannelRoute[] {
  return [
    {
      method: 'GET',
      path: ONSITE_PATHS.list,
      fields: [],
      answer: (request) => list(request, ports),
    },
    {
      method: 'POST',
      path: ONSITE_PATHS.event,
      fields: [...INTERACTION_FIELDS, 'action'],
      answer: (request) => refusable(() => recordInteraction(request, ports)),
    },
    {
      method: 'POST',
      path: ONSITE_PATHS.response,
      fields: [...INTERACTION_FIELDS, 'answers'],
      answer: (request) => refusable(() => recordResponse(request, ports)),
    },
  ];
}

async function list(
  { principal, query, receivedAt: now }: ChannelRequest,
  { campaigns: { catalogue, memberships }, shown }: OnsitePorts,
): Promise<Answer> {
  const sent = new URLSearchParams(query);
  const found = await listCampaigns(
    {
      ...{ accountId: principal.accountId, now, url: sent.get('url') ?? '' },
      userId: sent.get('user_id') ?? '',
      anonymousId: sent.get('anonymous_id') ?? '',
    },
    { catalogue, memberships, shown },
  );
  return { status: 200, body: `{"campaigns":[${found.join(',')}]}`, headers: NO_STORE };
}

/** POST /v1/onsite/event: 200 also for an unknown campaign, and when the write failed. */
async function recordInteraction(request: ChannelRequest, ports: OnsitePorts): Promise<Answer> {
  const { action, ...interaction } = readInteraction(request.body);
  const campaign = await find(request, interaction, ports);
  if (typeof campaign === 'object') await accept({ request, interaction, action, campaign }, ports);
  return OK;
}

/** POST /v1/onsite/response: answered when the answers are durable. */
async function recordResponse(request: ChannelRequest, ports: OnsitePorts): Promise<Answer> {
  const interaction = readResponse(request.body);
  const campaign = await find(request, interaction, ports);
  if (campaign === 'unverified') return UNAVAILABLE;
  if (campaign === 'unknown') throw new RefusedChange('unknown campaign');
  const answers = readAnswers(campaign.fields, request.body['answers']);
  const action = 'submitted';
  const result = await accept({ request, interaction, action, campaign, answers }, ports);
  return result.outcome === 'accepted' ? OK : renderFailure(result.failure);
}

/** `unverified`: the campaigns cannot be read, so that it may exist. */
async function find(
  { principal: { accountId } }: ChannelRequest,
  { campaignId }: Interaction,
  { campaigns }: OnsitePorts,
): Promise<LiveCampaign | 'unknown' | 'unverified'> {
  if (campaignId === 0) return 'unknown';
  const known = campaigns.catalogue.find(accountId, campaignId);
  if (known) return known;
  const isRead = await campaigns.refresh();
  return campaigns.catalogue.find(accountId, campaignId) ?? (isRead ? 'unknown' : 'unverified');
}

interface Recorded {
  request: ChannelRequest;
  interaction: Interaction;
  action: OnsiteAction;
  campaign: LiveCampaign;
  answers?: Answers;
}

/** Accepts the event of an interaction on the terms of POST /v1/track: quota, deduplication. */
async function accept(recorded: Recorded, ports: OnsitePorts): Promise<IngestResult> {
  const { request, interaction, action, campaign, answers } = recorded;
  const { principal, trace, receivedAt, ip, userAgent } = request;
  if (action === 'shown' && campaign.frequency !== 'always')
    for (const id of new Set([interaction.userId, interaction.anonymousId]))
      if (id !== '') {
        const hash = visitorText(visitorHash(principal.accountId, id));
        ports.shown.add({ accountId: principal.accountId, hash }, campaign.id);
      }
  const event = interactionEvent({
    ...{ interaction, action, kind: campaign.kind },
    ...(answers ? { answers } : {}),
  });
  return ports.service.accept({
    ...{ principal, trace, receivedAt, ip, userAgent, origin: '' },
    ...{ source: 'sdk', path: ONSITE_PATHS[answers ? 'response' : 'event'] },
    ...{ shape: 'single', type: 'track', body: Buffer.from(JSON.stringify(event)) },
  });
}

async function refusable(answer: () => Promise<Answer>): Promise<Answer> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof RefusedChange)
      return renderFailure({ code: 'rejected', message: error.message });
    throw error;
  }
}

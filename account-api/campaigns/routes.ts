import { BODY, TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import {
  createCampaign,
  removeRecurrence,
  sendCampaign,
  setRecurrence,
  submitCampaign,
} from './change-handlers.ts';
import { getCampaign, listCampaigns } from './read-handlers.ts';
import {
  ArmedRecurrence,
  Campaign,
  CampaignDraft,
  CampaignList,
  CampaignStatus,
  RecurrenceBody,
  SentCampaign,
} from './schemas.ts';

const campaign = {
  auth: 'key',
  cost: 1,
  lock: false,
  features: ['campaigns'],
  bodyLimit: undefined,
  flat: [],
  coded: [],
  timeout: TIMEOUT.most,
} as const;
const reading = { ...campaign, method: 'GET', permission: 'campaign.read' } as const;
const recurring = {
  ...campaign,
  path: '/v1/campaigns/{id}/recurrence',
  permission: 'campaign.send',
  features: ['campaigns', 'campaign_recurrence'],
} as const;

export const campaignRoutes: readonly Route[] = [
  {
    ...reading,
    path: '/v1/campaigns',
    summary: 'The 200 most recently updated campaigns',
    flat: ['campaigns_unavailable'],
    schemas: { response: CampaignList, status: 200 },
    handler: listCampaigns,
  },
  {
    ...reading,
    path: '/v1/campaigns/{id}',
    summary: 'One campaign, with what became of its messages',
    cost: 5,
    flat: ['bad_id', 'not_found', 'campaigns_unavailable'],
    schemas: { response: Campaign, status: 200 },
    handler: getCampaign,
  },
  {
    ...campaign,
    method: 'POST',
    path: '/v1/campaigns',
    summary: 'Create a campaign; a repeated request makes another one',
    permission: 'campaign.write',
    bodyLimit: BODY.most,
    coded: ['malformed_json', 'invalid_channel', 'campaign_invalid', 'campaign_unavailable'],
    schemas: { request: CampaignDraft, response: CampaignStatus, status: 201 },
    handler: createCampaign,
  },
  {
    ...recurring,
    method: 'PUT',
    summary: 'Send a campaign by a recurrence rule',
    bodyLimit: BODY.most,
    coded: [
      ...(['malformed_json', 'bad_id', 'not_found', 'campaign_invalid'] as const),
      ...(['approval_required', 'approval_stale'] as const),
      ...(['approval_unavailable', 'campaign_unavailable'] as const),
    ],
    schemas: { request: RecurrenceBody, response: ArmedRecurrence, status: 200 },
    handler: setRecurrence,
  },
  {
    ...recurring,
    method: 'DELETE',
    summary: 'End the recurrence of a campaign',
    coded: ['bad_id', 'not_found', 'campaign_unavailable'],
    schemas: { response: undefined, status: 204 },
    handler: removeRecurrence,
  },
  {
    ...campaign,
    method: 'POST',
    path: '/v1/campaigns/{id}/send',
    summary: 'Send a campaign now, or at scheduled_at; a repeated request sends it again',
    permission: 'campaign.send',
    coded: [
      ...(['bad_id', 'not_found', 'approval_required', 'approval_stale'] as const),
      ...(['approval_unavailable', 'campaign_unavailable'] as const),
    ],
    schemas: { response: SentCampaign, status: 202 },
    handler: sendCampaign,
  },
  {
    ...campaign,
    method: 'POST',
    path: '/v1/campaigns/{id}/submit',
    summary: 'Ask for the approval of a campaign',
    permission: 'campaign.write',
    features: ['campaigns', 'campaign_approval'],
    coded: ['bad_id', 'not_found', 'not_submittable', 'campaign_invalid', 'approval_unavailable'],
    schemas: { response: CampaignStatus, status: 202 },
    handler: submitCampaign,
  },
];

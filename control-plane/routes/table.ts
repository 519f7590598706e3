import {
  listConnections,
  saveConnection,
  setConnectionEnabled,
} from '../webhook-connections/handlers.ts';
import {
  listDeliveries,
  listRelays,
  removeRelay,
  retryDeliveries,
  saveRelay,
} from '../relays/handlers.ts';
import { changeCampaign } from '../campaigns/handlers.ts';
import { listTemplates, saveTemplate } from '../campaigns/templates.ts';
import { listAudit } from '../audit/handlers.ts';
import { createManagementKey, createWriteKey, listKeys, revokeKey } from '../keys/handlers.ts';
import { addMember, listMembers, removeMember, setMemberRole } from '../members/handlers.ts';
import { getLive } from '../live/handlers.ts';
import { getPerson, getTimeline } from '../people/handlers.ts';
import { sampleAudience } from '../people/sample.ts';
import { listValues } from '../values/handlers.ts';
import { getOnCall } from '../on-call/handlers.ts';
import { getOverview, getStart } from '../overview/handlers.ts';
import {
  createSavedReport,
  listSavedReports,
  removeSavedReport,
  replaceSavedReport,
} from '../saved-reports/handlers.ts';
import { changeMessageSettings, getSettings } from '../settings/handlers.ts';
import { getUsage } from '../usage/handlers.ts';
import type { ControlRoute } from './route.ts';

const reading = { method: 'GET', permission: 'settings.read', readsBody: false } as const;
const writing = { permission: 'settings.write', readsBody: true } as const;

const get = { method: 'GET', readsBody: false } as const;
const post = { method: 'POST', readsBody: true } as const;
const put = { method: 'PUT', readsBody: true } as const;
const remove = { method: 'DELETE', readsBody: false } as const;
const members = { read: 'member.read', write: 'member.write' } as const;
const keys = { read: 'apikey.read', write: 'apikey.write' } as const;

const campaign = { method: 'POST', readsBody: false } as const;
const campaignRoutes: readonly ControlRoute[] = [
  { ...get, path: '/v1/templates', permission: 'template.read', handler: listTemplates },
  { ...post, path: '/v1/templates', permission: 'template.write', handler: saveTemplate },
  { ...put, path: '/v1/templates/{id}', permission: 'template.write', handler: saveTemplate },
  {
    ...campaign,
    path: '/v1/campaigns/{id}/approve',
    permission: 'campaign.approve',
    handler: changeCampaign('approve'),
  },
  ...(['pause', 'resume', 'cancel', 'confirm'] as const).map((kind): ControlRoute => ({
    ...campaign,
    path: `/v1/campaigns/{id}/${kind}`,
    permission: 'campaign.send',
    handler: changeCampaign(kind),
  })),
];

/** Routes that only the panel has (docs/control-plane.md, "Routes of the panel"). */
export const panelRoutes: readonly ControlRoute[] = [
  { ...get, path: '/v1/overview', permission: 'event.read', handler: getOverview },
  { ...get, path: '/v1/live', permission: 'event.read', handler: getLive },
  { ...get, path: '/v1/schema/values', permission: 'event.read', handler: listValues },
  {
    ...post,
    path: '/v1/audiences/sample',
    permission: 'profile.read',
    handler: sampleAudience,
  },
  { ...get, path: '/v1/people/{id}', permission: 'profile.read', handler: getPerson },
  { ...get, path: '/v1/people/{id}/events', permission: 'profile.read', handler: getTimeline },
  { ...get, path: '/v1/settings', permission: 'settings.read', handler: getSettings },
  {
    ...put,
    path: '/v1/settings/messages',
    permission: 'settings.write',
    handler: changeMessageSettings,
  },
  { ...get, path: '/v1/on-call', permission: 'settings.read', handler: getOnCall },
  { ...get, path: '/v1/start', permission: 'event.read', handler: getStart },
  { ...get, path: '/v1/members', permission: members.read, handler: listMembers },
  { ...post, path: '/v1/members', permission: members.write, handler: addMember },
  { ...put, path: '/v1/members/{id}/role', permission: members.write, handler: setMemberRole },
  { ...remove, path: '/v1/members/{id}', permission: members.write, handler: removeMember },
  { ...get, path: '/v1/keys', permission: keys.read, handler: listKeys },
  { ...post, path: '/v1/write-keys', permission: keys.write, handler: createWriteKey },
  {
    ...remove,
    path: '/v1/write-keys/{id}',
    permission: keys.write,
    handler: revokeKey('write'),
  },
  { ...post, path: '/v1/management-keys', permission: keys.write, handler: createManagementKey },
  {
    ...remove,
    path: '/v1/management-keys/{id}',
    permission: keys.write,
    handler: revokeKey('management'),
  },
  { ...get, path: '/v1/audit', permission: 'audit.read', handler: listAudit },
  ...campaignRoutes,
  { ...get, path: '/v1/usage', permission: 'billing.read', handler: getUsage },
  { ...get, path: '/v1/saved-reports', permission: 'analytics.read', handler: listSavedReports },
  { ...post, path: '/v1/saved-reports', permission: 'analytics.read', handler: createSavedReport },
  {
    ...put,
    path: '/v1/saved-reports/{id}',
    permission: 'analytics.read',
    handler: replaceSavedReport,
  },
  {
    ...remove,
    path: '/v1/saved-reports/{id}',
    permission: 'analytics.read',
    handler: removeSavedReport,
  },
];

/** Routes of ingest 4.9, in the specification's order. */
export const integrationRoutes: readonly ControlRoute[] = [
  { ...reading, path: '/v1/integrations', handler: listConnections },
  { ...writing, method: 'PUT', path: '/v1/integrations', handler: saveConnection },
  {
    ...writing,
    method: 'POST',
    path: '/v1/integrations/{source}/enabled',
    handler: setConnectionEnabled,
  },
  { ...reading, path: '/v1/relays', handler: listRelays },
  { ...writing, method: 'PUT', path: '/v1/relays', handler: saveRelay },
  { ...writing, method: 'DELETE', path: '/v1/relays/{id}', readsBody: false, handler: removeRelay },
  { ...reading, path: '/v1/relays/{id}/deliveries', handler: listDeliveries },
  {
    ...writing,
    method: 'POST',
    path: '/v1/relays/{id}/retry',
    readsBody: false,
    handler: retryDeliveries,
  },
];

/** Routes of the control plane besides those shared with the management host. */
export const routes: readonly ControlRoute[] = [...integrationRoutes, ...panelRoutes];

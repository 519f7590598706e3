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
import { sendTestMessage } from '../campaigns/test-message.ts';
import { listAudit } from '../audit/handlers.ts';
import { createManagementKey, createWriteKey, listKeys, revokeKey } from '../keys/handlers.ts';
import { addMember, listMembers, removeMember, setMemberRole } from '../members/handlers.ts';
import { getLive } from '../live/handlers.ts';
import { getPerson, getTimeline } from '../people/handlers.ts';
import { sampleAudience } from '../people/sample.ts';
import { listValues } from '../values/handlers.ts';
import {
  getOperation,
  listChanges,
  listJobs,
  listOperations,
  requestOperation,
  stopOperation,
} from '../operations/handlers.ts';
import { getOnCall } from '../on-call/handlers.ts';
import {
  createDashboard,
  listDashboards,
  removeDashboard,
  replaceDashboard,
} from '../dashboards/handlers.ts';
import { createLink, listLinks } from '../links/handlers.ts';
import { createOnsiteCampaign, listOnsiteCampaigns, setOnsiteShown } from '../onsite/handlers.ts';
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
    ...post,
    path: '/v1/templates/{id}/test',
    permission: 'campaign.send',
    feature: 'transactional',
    handler: sendTestMessage,
  },
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

const onsiteRoutes: readonly ControlRoute[] = [
  {
    ...get,
    path: '/v1/onsite-campaigns',
    permission: 'campaign.read',
    handler: listOnsiteCampaigns,
  },
  {
    ...post,
    path: '/v1/onsite-campaigns',
    permission: 'campaign.send',
    handler: createOnsiteCampaign,
  },
  ...(['pause', 'resume'] as const).map((verb): ControlRoute => ({
    ...campaign,
    path: `/v1/onsite-campaigns/{id}/${verb}`,
    permission: 'campaign.send',
    handler: setOnsiteShown(verb === 'resume'),
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
  { ...get, path: '/v1/operations', permission: 'settings.read', handler: listOperations },
  { ...get, path: '/v1/operations/{id}', permission: 'settings.read', handler: getOperation },
  { ...post, path: '/v1/operations', permission: 'settings.write', handler: requestOperation },
  {
    ...{ method: 'POST', readsBody: false, path: '/v1/operations/{id}/stop' },
    permission: 'settings.write',
    handler: stopOperation,
  },
  { ...get, path: '/v1/jobs', permission: 'settings.read', handler: listJobs },
  { ...get, path: '/v1/changes', permission: 'audit.read', handler: listChanges },
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
  ...onsiteRoutes,
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
  { ...get, path: '/v1/links', permission: 'campaign.read', handler: listLinks },
  { ...post, path: '/v1/links', permission: 'campaign.write', handler: createLink },
  { ...get, path: '/v1/dashboards', permission: 'analytics.read', handler: listDashboards },
  { ...post, path: '/v1/dashboards', permission: 'analytics.read', handler: createDashboard },
  { ...put, path: '/v1/dashboards/{id}', permission: 'analytics.read', handler: replaceDashboard },
  {
    ...remove,
    path: '/v1/dashboards/{id}',
    permission: 'analytics.read',
    handler: removeDashboard,
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

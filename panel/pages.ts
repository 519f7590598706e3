import type { Permission } from '../platform/permissions.ts';

/** A page of the panel, for its navigation and for the status of the answer to a browser. */
export interface PanelPage {
  /** Parameters as `$name`, as the router writes them. */
  path: string;
  /** In panel/src/features: its code, which the document of the page preloads. */
  module?: string;
  /** Undefined: every member may open it. */
  permission?: Permission;
  /** For operators of the installation alone. */
  isForOperators?: true;
  /** Nobody is signed in yet. */
  isPublic?: true;
}

/** Every page. The control plane answers 404 for other paths, and 403 without the permission. */
export const PAGES = [
  { path: '/sign-in', isPublic: true },
  { path: '/', module: 'overview/overview-page' },
  { path: '/live', module: 'live/live-page', permission: 'event.read' },
  { path: '/reports/funnel', module: 'funnel/funnel-page', permission: 'analytics.read' },
  { path: '/reports/retention', module: 'retention/retention-page', permission: 'analytics.read' },
  { path: '/reports/trends', module: 'trends/trends-page', permission: 'analytics.read' },
  { path: '/reports/paths', module: 'paths/paths-page', permission: 'analytics.read' },
  { path: '/reports/saved', module: 'saved/saved-page', permission: 'analytics.read' },
  { path: '/dashboards', module: 'dashboards/dashboards-page', permission: 'analytics.read' },
  { path: '/dashboards/$id', module: 'dashboards/dashboard-page', permission: 'analytics.read' },
  { path: '/people', module: 'people/people-page', permission: 'profile.read' },
  { path: '/people/$id', module: 'people/person-page', permission: 'profile.read' },
  { path: '/segments', module: 'segments/segments-page', permission: 'segment.read' },
  { path: '/segments/new', module: 'segments/segment-page', permission: 'segment.write' },
  { path: '/segments/$id', module: 'segments/segment-page', permission: 'segment.read' },
  { path: '/campaigns', module: 'campaigns/campaigns-page', permission: 'campaign.read' },
  { path: '/campaigns/$id', module: 'campaigns/campaign-page', permission: 'campaign.read' },
  { path: '/templates', module: 'campaigns/templates-page', permission: 'template.read' },
  { path: '/onsite', module: 'onsite/onsite-page', permission: 'campaign.read' },
  { path: '/links', module: 'links/links-page', permission: 'campaign.read' },
  { path: '/exports', module: 'exports/exports-page', permission: 'data.export' },
  { path: '/integrations', module: 'integrations/integrations-page', permission: 'settings.read' },
  { path: '/quality', module: 'quality/quality-page', permission: 'event.read' },
  { path: '/on-call', module: 'on-call/on-call-page', permission: 'settings.read' },
  { path: '/on-call/changes', module: 'on-call/changes-page', permission: 'audit.read' },
  {
    path: '/on-call/jobs',
    module: 'on-call/jobs-page',
    permission: 'settings.read',
    isForOperators: true,
  },
  { path: '/settings', module: 'settings/settings-page', permission: 'settings.read' },
  { path: '/settings/members', module: 'members/members-page', permission: 'member.read' },
  { path: '/settings/keys', module: 'keys/keys-page', permission: 'apikey.read' },
  { path: '/settings/audit', module: 'audit/audit-page', permission: 'audit.read' },
  { path: '/settings/usage', module: 'usage/usage-page', permission: 'billing.read' },
  { path: '/me', module: 'me/me-page' },
] as const satisfies readonly PanelPage[];

export type PagePath = (typeof PAGES)[number]['path'];

/** The page of a path; undefined: there is none. */
export function pageOf(pathname: string): PanelPage | undefined {
  const parts = partsOf(pathname);
  return PAGES.find(({ path }) => {
    const wanted = partsOf(path);
    return (
      wanted.length === parts.length &&
      wanted.every((part, at) => part.startsWith('$') || part === parts[at])
    );
  });
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

import type { Permission } from '../platform/permissions.ts';

/** A page of the panel, for its navigation and for the status of the answer to a browser. */
export interface PanelPage {
  /** Parameters as `$name`, as the router writes them. */
  path: string;
  /** Undefined: every member may open it. */
  permission?: Permission;
  /** Nobody is signed in yet. */
  isPublic?: true;
}

/** Every page. The control plane answers 404 for other paths, and 403 without the permission. */
export const PAGES = [
  { path: '/sign-in', isPublic: true },
  { path: '/' },
  { path: '/live', permission: 'event.read' },
  { path: '/reports/funnel', permission: 'analytics.read' },
  { path: '/reports/retention', permission: 'analytics.read' },
  { path: '/reports/trends', permission: 'analytics.read' },
  { path: '/reports/paths', permission: 'analytics.read' },
  { path: '/reports/saved', permission: 'analytics.read' },
  { path: '/people', permission: 'profile.read' },
  { path: '/people/$id', permission: 'profile.read' },
  { path: '/segments', permission: 'segment.read' },
  { path: '/segments/new', permission: 'segment.write' },
  { path: '/segments/$id', permission: 'segment.read' },
  { path: '/campaigns', permission: 'campaign.read' },
  { path: '/campaigns/$id', permission: 'campaign.read' },
  { path: '/templates', permission: 'template.read' },
  { path: '/exports', permission: 'data.export' },
  { path: '/integrations', permission: 'settings.read' },
  { path: '/quality', permission: 'event.read' },
  { path: '/on-call', permission: 'settings.read' },
  { path: '/settings', permission: 'settings.read' },
  { path: '/settings/members', permission: 'member.read' },
  { path: '/settings/keys', permission: 'apikey.read' },
  { path: '/settings/audit', permission: 'audit.read' },
  { path: '/settings/usage', permission: 'billing.read' },
  { path: '/me' },
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

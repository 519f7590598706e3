import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type RouterHistory,
} from '@tanstack/react-router';
import { PAGES, type PagePath, type PanelPage } from '../../pages.ts';
import { forbidden } from '../shared/api/problem.ts';
import { loadTexts } from '../shared/language/texts.ts';
import { sessionQuery } from '../shared/session/session.ts';
import { readAuditSearch } from '../features/audit/search.ts';
import { readFunnelSearch } from '../features/funnel/search.ts';
import { readLiveSearch } from '../features/live/search.ts';
import { readPathsSearch } from '../features/paths/search.ts';
import { readPeopleSearch } from '../features/people/search.ts';
import { readQualitySearch } from '../features/quality/search.ts';
import { readRetentionSearch } from '../features/retention/search.ts';
import { readSegmentSearch } from '../features/segments/search.ts';
import { readChangesSearch } from '../features/on-call/changes-search.ts';
import { readNext } from '../features/sign-in/next.ts';
import { SignInPage } from '../features/sign-in/sign-in-page.tsx';
import { readTrendsSearch } from '../features/trends/search.ts';
import { LoadingPage } from './loading-page.tsx';
import { NotFoundPage } from './not-found-page.tsx';
import { ProblemPage } from './problem-page.tsx';

interface Context {
  queryClient: QueryClient;
}

const rootRoute = createRootRouteWithContext<Context>()({
  notFoundComponent: NotFoundPage,
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: readNext,
  component: SignInPage,
});

/** Every page but sign-in: for members only, inside the navigation. */
const memberRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'member',
  beforeLoad: async ({ context: { queryClient }, location }) => {
    const session = await queryClient.query({ ...sessionQuery, staleTime: 'static' });
    if (!session)
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router's way to redirect
      throw redirect({ to: '/sign-in', search: { next: location.href }, replace: true });
  },
  component: lazyRouteComponent(() => import('./shell.tsx'), 'Shell'),
});

/** What every page of members has: its permission is checked and its texts are loaded first. */
function member<Path extends PagePath>(path: Path, ...texts: readonly string[]) {
  const { permission }: PanelPage = PAGES.find((one) => one.path === path) ?? { path };
  return {
    path,
    getParentRoute: () => memberRoute,
    loader: async ({ context: { queryClient } }: { context: Context }) => {
      const session = queryClient.getQueryData(sessionQuery.queryKey);
      // The document had the status 403 already; a link inside the panel sees the same page.
      if (permission !== undefined && session?.permissions.includes(permission) === false)
        throw forbidden(permission);
      await loadTexts(...texts);
    },
  };
}

const routes = [
  createRoute({
    ...member('/', 'overview'),
    component: lazyRouteComponent(
      () => import('../features/overview/overview-page.tsx'),
      'OverviewPage',
    ),
  }),
  createRoute({
    ...member('/live', 'live'),
    validateSearch: readLiveSearch,
    component: lazyRouteComponent(() => import('../features/live/live-page.tsx'), 'LivePage'),
  }),
  createRoute({
    ...member('/reports/funnel', 'funnel'),
    validateSearch: readFunnelSearch,
    component: lazyRouteComponent(() => import('../features/funnel/funnel-page.tsx'), 'FunnelPage'),
  }),
  createRoute({
    ...member('/reports/retention', 'retention'),
    validateSearch: readRetentionSearch,
    component: lazyRouteComponent(
      () => import('../features/retention/retention-page.tsx'),
      'RetentionPage',
    ),
  }),
  createRoute({
    ...member('/reports/trends', 'trends'),
    validateSearch: readTrendsSearch,
    component: lazyRouteComponent(() => import('../features/trends/trends-page.tsx'), 'TrendsPage'),
  }),
  createRoute({
    ...member('/reports/paths', 'paths'),
    validateSearch: readPathsSearch,
    component: lazyRouteComponent(() => import('../features/paths/paths-page.tsx'), 'PathsPage'),
  }),
  createRoute({
    ...member('/reports/saved', 'saved'),
    component: lazyRouteComponent(() => import('../features/saved/saved-page.tsx'), 'SavedPage'),
  }),
  createRoute({
    ...member('/dashboards', 'dashboards'),
    component: lazyRouteComponent(
      () => import('../features/dashboards/dashboards-page.tsx'),
      'DashboardsPage',
    ),
  }),
  createRoute({
    ...member('/dashboards/$id', 'dashboards', 'funnel', 'retention', 'trends', 'paths'),
    component: lazyRouteComponent(
      () => import('../features/dashboards/dashboard-page.tsx'),
      'DashboardPage',
    ),
  }),
  createRoute({
    ...member('/people', 'people'),
    validateSearch: readPeopleSearch,
    component: lazyRouteComponent(() => import('../features/people/people-page.tsx'), 'PeoplePage'),
  }),
  createRoute({
    ...member('/people/$id', 'people'),
    component: lazyRouteComponent(() => import('../features/people/person-page.tsx'), 'PersonPage'),
  }),
  createRoute({
    ...member('/segments', 'segments'),
    component: lazyRouteComponent(
      () => import('../features/segments/segments-page.tsx'),
      'SegmentsPage',
    ),
  }),
  createRoute({
    ...member('/segments/new', 'segments'),
    validateSearch: readSegmentSearch,
    component: lazyRouteComponent(
      () => import('../features/segments/segment-page.tsx'),
      'NewSegmentPage',
    ),
  }),
  createRoute({
    ...member('/segments/$id', 'segments'),
    validateSearch: readSegmentSearch,
    component: lazyRouteComponent(
      () => import('../features/segments/segment-page.tsx'),
      'SegmentPage',
    ),
  }),
  createRoute({
    ...member('/campaigns', 'campaigns'),
    component: lazyRouteComponent(
      () => import('../features/campaigns/campaigns-page.tsx'),
      'CampaignsPage',
    ),
  }),
  createRoute({
    ...member('/campaigns/$id', 'campaigns'),
    component: lazyRouteComponent(
      () => import('../features/campaigns/campaign-page.tsx'),
      'CampaignPage',
    ),
  }),
  createRoute({
    ...member('/templates', 'campaigns'),
    component: lazyRouteComponent(
      () => import('../features/campaigns/templates-page.tsx'),
      'TemplatesPage',
    ),
  }),
  createRoute({
    ...member('/onsite', 'onsite'),
    component: lazyRouteComponent(() => import('../features/onsite/onsite-page.tsx'), 'OnsitePage'),
  }),
  createRoute({
    ...member('/links', 'links'),
    component: lazyRouteComponent(() => import('../features/links/links-page.tsx'), 'LinksPage'),
  }),
  createRoute({
    ...member('/exports', 'exports'),
    component: lazyRouteComponent(
      () => import('../features/exports/exports-page.tsx'),
      'ExportsPage',
    ),
  }),
  createRoute({
    ...member('/integrations', 'integrations'),
    component: lazyRouteComponent(
      () => import('../features/integrations/integrations-page.tsx'),
      'IntegrationsPage',
    ),
  }),
  createRoute({
    ...member('/quality', 'quality'),
    validateSearch: readQualitySearch,
    component: lazyRouteComponent(
      () => import('../features/quality/quality-page.tsx'),
      'QualityPage',
    ),
  }),
  createRoute({
    ...member('/on-call', 'on-call'),
    component: lazyRouteComponent(
      () => import('../features/on-call/on-call-page.tsx'),
      'OnCallPage',
    ),
  }),
  createRoute({
    ...member('/on-call/changes', 'on-call'),
    validateSearch: readChangesSearch,
    component: lazyRouteComponent(
      () => import('../features/on-call/changes-page.tsx'),
      'ChangesPage',
    ),
  }),
  createRoute({
    ...member('/on-call/jobs', 'on-call'),
    component: lazyRouteComponent(() => import('../features/on-call/jobs-page.tsx'), 'JobsPage'),
  }),
  createRoute({
    ...member('/settings', 'settings'),
    component: lazyRouteComponent(
      () => import('../features/settings/settings-page.tsx'),
      'SettingsPage',
    ),
  }),
  createRoute({
    ...member('/settings/keys', 'keys'),
    component: lazyRouteComponent(() => import('../features/keys/keys-page.tsx'), 'KeysPage'),
  }),
  createRoute({
    ...member('/settings/members', 'members'),
    component: lazyRouteComponent(
      () => import('../features/members/members-page.tsx'),
      'MembersPage',
    ),
  }),
  createRoute({
    ...member('/settings/audit', 'audit'),
    validateSearch: readAuditSearch,
    component: lazyRouteComponent(() => import('../features/audit/audit-page.tsx'), 'AuditPage'),
  }),
  createRoute({
    ...member('/settings/usage', 'usage'),
    component: lazyRouteComponent(() => import('../features/usage/usage-page.tsx'), 'UsagePage'),
  }),
  createRoute({
    ...member('/me', 'me'),
    component: lazyRouteComponent(() => import('../features/me/me-page.tsx'), 'MePage'),
  }),
] as const;

const routeTree = rootRoute.addChildren([signInRoute, memberRoute.addChildren(routes)]);

/** `history`: where there is no window. */
export function createPanelRouter(queryClient: QueryClient, history?: RouterHistory) {
  return createRouter({
    ...(history ? { history } : {}),
    routeTree,
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: ProblemPage,
    // Where there is no window it would be an inline script.
    scrollRestoration: history === undefined,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPanelRouter>;
  }
}

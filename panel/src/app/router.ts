import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { loadTexts } from '../shared/language/texts.ts';
import { sessionQuery } from '../shared/session/session.ts';
import { readNext } from '../features/sign-in/next.ts';
import { SignInPage } from '../features/sign-in/sign-in-page.tsx';
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

const member = { getParentRoute: () => memberRoute };

const overviewRoute = createRoute({
  ...member,
  path: '/',
  loader: () => loadTexts('overview'),
  component: lazyRouteComponent(
    () => import('../features/overview/overview-page.tsx'),
    'OverviewPage',
  ),
});

const routeTree = rootRoute.addChildren([signInRoute, memberRoute.addChildren([overviewRoute])]);

export function createPanelRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: ProblemPage,
    scrollRestoration: true,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPanelRouter>;
  }
}

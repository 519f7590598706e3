import type { TrackingTokens } from '../../events/channels/tracking-token.ts';
import { bounceRoute, type BouncePorts } from '../bounces/bounce-route.ts';
import type { BodyBudget } from '../http/body.ts';
import type { SelfServedRoute } from '../http/host.ts';
import { openPixelRoute, type RecordOpen } from '../pages/open-pixel.ts';
import type { PagePorts } from '../pages/page-requests.ts';
import { preferencesRoutes } from '../pages/preferences.ts';
import { unsubscribeRoutes } from '../pages/unsubscribe.ts';
import type { RecipientOf, RecordChange } from './recipients.ts';
import { TrackedServer, type TrackedRoute, type TrackedServerOptions } from './tracked-server.ts';

/** What the routes with tokens read and write. */
export interface TrackingPorts {
  recipientOf: RecipientOf;
  record: RecordChange;
  recordOpen: RecordOpen;
}

export interface TrackingRoutesOptions extends Omit<TrackedServerOptions, 'tokens' | 'turns'> {
  tokens: TrackingTokens;
  budget: BodyBudget;
  ports: TrackingPorts;
}

/** The routes of /e/ pages and of the bounce intake (docs/channels.md). */
export function trackingRoutes(options: TrackingRoutesOptions): SelfServedRoute[] {
  const { tokens, budget, ports, log } = options;
  const onUnreachable = (error: unknown) =>
    log.warn(
      { err: error, code: 'recipients_unreachable' },
      'recipients of messages cannot be read from PostgreSQL; pages and bounces are answered 503',
    );
  const server = new TrackedServer({ ...options, tokens, turns: budget.turns });
  return server.routes(trackedRoutes({ ...ports, tokens, budget, onUnreachable }));
}

/** Every route with a token in its path. */
export function trackedRoutes(
  ports: PagePorts & BouncePorts & Pick<TrackingPorts, 'recordOpen'>,
): TrackedRoute[] {
  return [
    openPixelRoute(ports.recordOpen),
    ...unsubscribeRoutes(ports),
    ...preferencesRoutes(ports),
    bounceRoute(ports),
  ];
}

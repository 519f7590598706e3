import type { IngestService } from '../../ingest/accept.ts';
import type { Log } from '../../platform/log.ts';
import type { ChannelRoute } from '../channels/channel-server.ts';
import { FollowedCampaigns } from './follow-campaigns.ts';
import { onsiteRoutes } from './onsite-routes.ts';
import type { OnsiteStore } from './onsite-store.ts';
import { ShownCampaigns } from './shown-campaigns.ts';
import type { ShownStore } from './shown-store.ts';

/** On-site campaigns in PostgreSQL. */
export interface OnsiteClients {
  campaigns: OnsiteStore;
  shown: ShownStore;
}

interface OnsiteOptions {
  clients: OnsiteClients;
  service: Pick<IngestService, 'accept'>;
  log: Log;
  /** ms since the epoch */
  now: () => number;
}

/** The routes of on-site campaigns; `close` writes what is pending before the process ends. */
export function connectOnsite({ clients, service, log, now }: OnsiteOptions): {
  routes: ChannelRoute[];
  close: (ms: number) => Promise<void>;
} {
  const campaigns = new FollowedCampaigns({ store: clients.campaigns, log, now });
  const shown = new ShownCampaigns({
    ...{ store: clients.shown, now },
    onFailed: (error) =>
      log.warn(
        { err: error, code: 'onsite_shown_unreachable' },
        'the campaigns that visitors have seen are not read or written; SDKs know them too',
      ),
  });
  return {
    routes: onsiteRoutes({ campaigns, shown, service }),
    close: (ms) => {
      campaigns.close();
      return shown.close(ms);
    },
  };
}

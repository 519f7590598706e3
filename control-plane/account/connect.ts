import { OpenRequests } from '../../account-api/limits/open-requests.ts';
import { minuteCounters } from '../../account-api/limits/minute-counter.ts';
import { billingStore } from '../../account-api/lock/billing-store.ts';
import { softLock } from '../../account-api/lock/soft-lock.ts';
import { usageStore } from '../../account-api/lock/usage-store.ts';
import { connectCampaigns } from '../../account-api/campaigns/connect-campaigns.ts';
import { readCampaignStats } from '../../account-api/campaigns/stats/read-campaign-stats.ts';
import { ExportStore } from '../../account-api/exports/export-store.ts';
import { connectMessages } from '../../account-api/messages/connect-messages.ts';
import { connectQueries } from '../../account-api/queries.ts';
import { cachedSchema } from '../../account-api/schema/cached.ts';
import { segmentStore } from '../../account-api/segments/segment-store.ts';
import { featuresOf } from '../../account-api/settings.ts';
import { logPublisher } from '../../ingest/log-publisher.ts';
import { writerHold } from '../../ingest/writer-hold.ts';
import type { Redis } from 'ioredis';
import { createFreshness } from '../../platform/freshness/freshness.ts';
import { logSnapshots } from '../../platform/freshness/log-snapshot.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import type { Config } from '../config.ts';
import type { AccountPorts } from './route.ts';

interface Connecting {
  context: ServiceContext<Config>;
  name: string;
  database: Database;
  redis: Redis;
}

/** What the routes shared with the management host need, over connections of this process. */
export function connectAccount({ context, name, database, redis }: Connecting): AccountPorts {
  const { config, log, registry, onShutdown } = context;
  const { close, countPeople, readFew, readMany, ...queries } = connectQueries({
    ...{ config, name, log, registry, metric: 'ravand_panel_queries', jobQueries: 0 },
  });
  const snapshots = logSnapshots({
    ...{ settings: config, name, projections: ['events', 'identities', 'profiles'] },
  });
  onShutdown('queries', async () => {
    await Promise.all([close(), snapshots.close()]);
  });
  const hold = writerHold({ database, log, service: name });
  const publisher = logPublisher({ settings: config, log, name, hold });
  onShutdown('publisher', () => publisher.close());
  const { messages, close: closeMessages } = connectMessages({
    ...{ config, name, log, registry, count: minuteCounters(redis), publisher },
  });
  onShutdown('messages', () => closeMessages(config.SHUTDOWN_TIMEOUT * 0.6));
  const readUsage = usageStore(database, Date.now);
  return {
    log,
    queries: { readFew, readMany },
    openRequests: new OpenRequests(config.MAX_REQUESTS_PER_ACCOUNT),
    checkLock: softLock({ log, readBilling: billingStore({ database, readUsage }) }),
    services: {
      log,
      features: featuresOf(config),
      freshness: createFreshness({ fetchSnapshot: () => snapshots.fetch(), now: Date.now, log }),
      ...queries,
      schema: cachedSchema(queries.schema),
      segments: segmentStore(database),
      campaigns: connectCampaigns(database, (query) =>
        readCampaignStats({ database, mergesOf: queries.mergesOf, countPeople }, query),
      ),
      exports: new ExportStore(database),
      messages,
    },
  };
}

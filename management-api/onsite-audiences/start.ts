import type { Registry } from 'prom-client';
import type { Log } from '../../platform/log.ts';
import { metricsOf } from '../../platform/metrics.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { JobQuery } from '../../account-api/queries.ts';
import { AudienceStore } from './audience-store.ts';
import { membersReader } from './read-members.ts';
import { sweepShown } from './sweep-shown.ts';
import { runAudienceWorker } from './worker.ts';

/** Computes the audiences of on-site campaigns until the signal aborts, and measures their age. */
export function onsiteAudiences(options: {
  database: Pick<Database, 'query'>;
  members: JobQuery;
  log: Log;
  registry: Registry;
  signal: AbortSignal;
}): Promise<void> {
  const { database, members, log, registry, signal } = options;
  const store = new AudienceStore(database);
  const age = metricsOf(registry).gauge(
    'ravand_onsite_audience_age_seconds',
    'Age of the members of an on-site audience that were computed longest ago.',
  );
  return runAudienceWorker({
    ...{ store, log, signal, now: Date.now },
    readMembers: membersReader(members),
    sweepShown: () => sweepShown(database),
    measure: async () => age.set(await store.oldestAge()),
  });
}

import { catalogueTarget } from '../../projections/catalogue/rebuild.ts';
import { clickhouseEventsTable } from '../../projections/events/events-table.ts';
import { eventsTarget } from '../../projections/events/rebuild.ts';
import { readDecisions } from '../../projections/identities/read-decisions.ts';
import { identitiesTarget } from '../../projections/identities/rebuild.ts';
import { coalescingStore } from '../../projections/profiles/coalescing-store.ts';
import { profilesTarget } from '../../projections/profiles/rebuild.ts';
import { clickhouseProfiles } from '../../projections/profiles/store.ts';
import type {
  RebuildJournal,
  RebuildProgress,
  RebuildTarget,
} from '../../projections/rebuild-target.ts';
import type { GracefulStop } from '../graceful-stop.ts';
import { readRetentions, type Connections } from '../jobs/connections.ts';
import type { OwnedJob } from '../jobs/job-ledger.ts';
import { keptBy, readRetentionLimits } from './deleted-rows.ts';
import type { RebuildLine } from './request.ts';
import type { RebuildRow } from './row-fields.ts';

const EVENTS_LIMITS = { rows: 50_000, bytes: 32 * 1024 * 1024 };
const PROFILES_LIMITS = { events: 20_000, cacheBytes: 384 * 1024 * 1024 };

/** The writer of the rebuilt table, from its projection, which rowsFor makes rows for. */
export async function createTarget(options: {
  connections: Connections;
  line: RebuildLine;
  table: string;
  owned: OwnedJob;
  gracefulStop: GracefulStop;
  from: ReadonlyMap<number, RebuildProgress>;
  journal: RebuildJournal;
}): Promise<RebuildTarget<RebuildRow>> {
  const { connections, line, table, owned, from, journal } = options;
  const { clickhouse: client, database, settings, log } = connections;
  const cluster = settings.CLICKHOUSE_CLUSTER;
  const signal = options.gracefulStop.writeSignal;
  const retentions = await readRetentions(database);
  const now = Date.now();
  switch (line.projection) {
    case 'events':
      return ofRows(
        eventsTarget({
          ...{ log, journal, from, signal },
          isKept: keptBy(await readRetentionLimits(database), { retentions, now }),
          eventsTable: clickhouseEventsTable({ client, cluster, table }),
          jobId: owned.id,
          ownerEpoch: owned.epoch,
          confirm: () => owned.confirm(),
          limits: EVENTS_LIMITS,
        }),
      );
    case 'profiles':
      return ofRows(
        profilesTarget({
          store: coalescingStore(clickhouseProfiles({ client, cluster, table })),
          limits: PROFILES_LIMITS,
          ...{ log, journal, signal },
        }),
      );
    case 'catalogue':
      return catalogueTarget({ client, table, retentions, now });
    case 'identities':
      return identitiesTarget({
        ...{ client, database, table },
        readDecisions: () =>
          readDecisions({
            ...{ settings, admin: connections.admin },
            signal: options.gracefulStop.readSignal,
          }),
      });
    case 'quality':
    case 'messages':
      throw new Error(`${line.projection} is rebuilt from a topic of its own (fill.ts)`);
  }
}

/** A target gets the rows that rowsFor makes for its projection, or whole ones. */
function ofRows<Row>(target: RebuildTarget<Row>): RebuildTarget<RebuildRow> {
  return target as unknown as RebuildTarget<RebuildRow>;
}

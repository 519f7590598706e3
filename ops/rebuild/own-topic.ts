import { keptFrom } from '../../events/retention.ts';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import { ErasureView } from '../../platform/log/erasures.ts';
import { rebuildMessages } from '../../projections/messages/rebuild.ts';
import { rebuildQuality } from '../../projections/quality/rebuild.ts';
import type { RebuildProgress } from '../../projections/rebuild-target.ts';
import { LAST_INDEX } from '../../schemas/log-position.ts';
import type { GracefulStop } from '../graceful-stop.ts';
import { readRetentions, type Connections } from '../jobs/connections.ts';
import { PROJECTION } from './projections.ts';

/** A rebuild of a projection that has a topic of its own: it reads that one, not the events. */
export interface OwnTopicRebuild {
  connections: Connections;
  gracefulStop: GracefulStop;
  table: string;
  /** More was read and written. */
  added: (counts: { records: number; rows: number }) => void;
}

export async function rebuildQualityTable({
  connections,
  gracefulStop,
  table,
  added,
}: OwnTopicRebuild): Promise<void> {
  await rebuildQuality({
    ...connections,
    client: connections.clickhouse,
    table,
    retentions: await readRetentions(connections.database),
    now: Date.now(),
    signal: gracefulStop.readSignal,
    progress: (counts) => {
      gracefulStop.progressed();
      added(counts);
    },
  });
}

/**
 * Reads from where an earlier pass stopped: a swap reads only what came since.
 * @param positions by partition; those that are stored are set
 */
export async function rebuildMessagesTable(
  { connections, gracefulStop, table, added }: OwnTopicRebuild,
  positions: Map<number, RebuildProgress>,
): Promise<void> {
  const { settings, admin, clickhouse: client, database, log } = connections;
  const { topic, group } = PROJECTION.messages;
  const retentions = await readRetentions(database);
  const now = Date.now();
  const committed = await committedOffsets(admin, group, topic);
  const ranges = (await topicEnds(admin, topic)).map(({ partition, low }) => ({
    partition,
    from: Math.max(low, positions.get(partition)?.next ?? 0),
    to: committed.get(partition) ?? low,
  }));
  const withoutErased = (await ErasureView.read(database, 'recorded')).reader(topic);
  const reading = { settings, clientId: 'ravand-rebuild', signal: gracefulStop.readSignal };
  await rebuildMessages({
    ...{ client, cluster: settings.CLICKHOUSE_CLUSTER, table, log, ranges },
    epochs: await readEpochs(database, topic),
    keptFrom: (accountId) => keptFrom(retentions, accountId, now),
    async *read(range) {
      for await (const messages of readRange({ ...reading, range: { topic, ...range } }))
        yield messages.map(withoutErased);
    },
    stored: (partition, next, counts) => {
      gracefulStop.progressed();
      positions.set(partition, { next, place: { offset: next - 1, index: LAST_INDEX } });
      added(counts);
    },
  });
}

import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { readEpochs } from '../../../platform/log/epochs.ts';
import { processedUpTo } from '../../../platform/log/processed-up-to.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { compareEventOffsets, type LogPosition } from '../../../schemas/log-position.ts';
import { GROUP, TOPIC } from '../../../schemas/topology.ts';

/**
 * By raw partition, the position up to which both events-sink and profiles-sink have processed
 * everything. Rejects without Kafka or PostgreSQL.
 */
export async function bothProcessed(options: {
  settings: KafkaSettings;
  database: Pick<Database, 'query'>;
  signal: AbortSignal;
}): Promise<LogPosition[]> {
  const { settings, database, signal } = options;
  const epochs = await readEpochs(database, TOPIC.raw);
  return withKafkaAdmin(settings, async (admin) => {
    const events = await processedUpTo({ settings, admin, signal }, GROUP.events);
    const profiles = await processedUpTo({ settings, admin, signal }, GROUP.profiles);
    return [...events].flatMap(([partition, one]) => {
      const other = profiles.get(partition);
      if (!other) return [];
      const { offset, index } = compareEventOffsets(one, other) <= 0 ? one : other;
      return offset < 0 ? [] : [{ epoch: epochs.at(partition, offset), partition, offset, index }];
    });
  });
}

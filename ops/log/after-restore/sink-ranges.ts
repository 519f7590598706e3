import { topicEnds } from '../../../platform/kafka/admin.ts';
import { lastPublished } from '../../../platform/log/processed-up-to.ts';
import { GROUP, TOPIC } from '../../../schemas/topology.ts';
import type { Connections } from '../../jobs/connections.ts';

const MARK = `INSERT INTO sink_ranges AS s (sink, topic, partition, unsure_epoch, unsure_offset, unsure_index) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (sink, topic, partition) DO UPDATE SET unsure_epoch = excluded.unsure_epoch, unsure_offset = excluded.unsure_offset, unsure_index = excluded.unsure_index, updated_at = now()
  WHERE (s.unsure_epoch, s.unsure_offset, s.unsure_index) < (excluded.unsure_epoch, excluded.unsure_offset, excluded.unsure_index)`;

/**
 * The ranges that events-sink recorded after the restored state are lost, and their rows may be
 * stored: up to the last published row it reads back before it inserts (EXACTLY-ONCE.md). Resolves
 * with the number of partitions.
 */
export async function markUnsure(
  { database, admin, settings }: Connections,
  { dryRun, signal }: { dryRun: boolean; signal: AbortSignal },
): Promise<number> {
  const ends = await topicEnds(admin, TOPIC.normalised);
  for (const { partition, low, high } of ends) {
    const at = { partition, low, next: high };
    const { epoch, offset, index } = await lastPublished({ settings, signal }, at);
    if (!dryRun)
      await database.query(MARK, [
        ...[GROUP.events, TOPIC.normalised],
        ...[partition, epoch, offset, index],
      ]);
  }
  return ends.length;
}

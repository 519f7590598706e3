import type { Admin } from 'kafkajs';
import { topicEnds } from '../../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { connectProducer, type LogProducer } from '../../../platform/kafka/producer.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';
import type { Log } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/pool.ts';

export interface RewriteServers {
  admin: Admin;
  database: Database;
  settings: KafkaSettings;
  log: Log;
}

const PUBLISH_MS = 60_000;
const MIB = 1024 * 1024;

export function openProducer({ settings, log }: RewriteServers): Promise<LogProducer> {
  return connectProducer({
    ...{ settings, log, clientId: 'ravand-log', timeout: PUBLISH_MS, compression: 'lz4' },
    ...{ linger: 5, pollInterval: 5, maxQueued: { records: 100_000, bytes: 128 * MIB } },
  });
}

/** Ends of a physical topic, by partition. */
export async function endsOf(admin: Admin, name: string): Promise<Map<number, number>> {
  const ends = await topicEnds(admin, exactTopic(name));
  return new Map(ends.map(({ partition, high }) => [partition, high]));
}

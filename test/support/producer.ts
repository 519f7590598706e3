import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import { createLog } from '../../platform/log.ts';

/** A producer of a test or a bench: 60 s until a record has failed, room for 256 MiB. */
export function connectTestProducer(settings: KafkaSettings): Promise<LogProducer> {
  return connectProducer({
    settings,
    log: createLog({ part: 'test', level: 'error' }),
    clientId: 'test',
    timeout: 60_000,
    linger: 2,
    pollInterval: 5,
    maxQueued: { records: 200_000, bytes: 256 * 2 ** 20 },
  });
}

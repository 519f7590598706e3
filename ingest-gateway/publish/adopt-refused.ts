import type { LogRecord } from '../../ingest/log-record.ts';
import type { Log } from '../../platform/log.ts';
import type { Quarantine } from '../spool/quarantine.ts';
import { decodePayload } from '../spool/spooled-record.ts';
import type { KnownTopics } from './known-topics.ts';

/**
 * Publishes the records in quarantine that Kafka refused for their size and that its limits allow
 * now, one after the other, and removes each when it is durable. One that is published twice, by a
 * kill in between, has the same sequence number, and the normaliser drops the copy.
 */
export async function adoptRefused(options: {
  quarantine: Quarantine;
  topics: Pick<KnownTopics, 'limitOf' | 'partitionsOf'>;
  publish: (records: readonly LogRecord[]) => Promise<readonly LogRecord[]>;
  log: Log;
}): Promise<void> {
  const { quarantine, topics, log } = options;
  let adopted = 0;
  for (const name of await quarantine.refused()) {
    const record = decodePayload(await quarantine.read(name));
    if (!record || record.value.length > topics.limitOf(record.topic)) continue;
    const partition = record.partition % topics.partitionsOf(record.topic);
    if ((await options.publish([{ ...record, partition }])).length > 0) continue;
    await quarantine.remove(name);
    adopted++;
  }
  if (adopted > 0)
    log.info({ records: adopted }, 'records were published that Kafka had refused for their size');
}

import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { LogProbe } from '../../../platform/kafka/log-probe.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { connectTestProducer } from '../../support/producer.ts';
import { readyStack } from '../../support/stack.ts';

const PARTITIONS = [0, 1, 2, 3];
/** More than one poll of the probe brings: a partition is paused once its record has come. */
const RECORDS = 700;

it('one probe reads the records of the same partitions again and again, together', async () => {
  const settings = parseSettings(kafkaSettings, { KAFKA_BROKERS: readyStack().kafka_brokers });
  const topic = `log-probe-${randomBytes(4).toString('hex')}`;
  await withKafkaAdmin(settings, (admin) =>
    admin.createTopics({
      waitForLeaders: true,
      topics: [{ topic, numPartitions: PARTITIONS.length, replicationFactor: 1 }],
    }),
  );
  const producer = await connectTestProducer(settings);
  const probe = new LogProbe(settings);
  try {
    for (let at = 0; at < RECORDS; at++) {
      const value = Buffer.from(`${at}`);
      const sent = PARTITIONS.map((partition) =>
        producer.publish({ topic, partition, key: null, value }),
      );
      await Promise.all(sent);
    }
    for (const offset of [0, 1, 2, 3, 4, 5]) {
      const found = await Promise.all(
        PARTITIONS.map((partition) => probe.recordAt({ topic, partition }, offset)),
      );
      expect(found.map((one) => one?.value?.toString())).toEqual(PARTITIONS.map(() => `${offset}`));
    }
  } finally {
    await probe.close();
    await producer.close(5000);
    await withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [topic] }));
  }
}, 60_000);

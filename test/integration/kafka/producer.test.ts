import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { connectProducer, type LogProducer } from '../../../platform/kafka/producer.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { createLog } from '../../../platform/log.ts';
import { readyStack } from '../../support/stack.ts';

const topic = `test.producer.${randomUUID()}`;
const settings = parseSettings(kafkaSettings, { KAFKA_BROKERS: readyStack().kafka_brokers });
let producer: LogProducer;

beforeAll(async () => {
  await withKafkaAdmin(settings, (admin) =>
    admin.createTopics({
      topics: [{ topic, numPartitions: 1, replicationFactor: 1 }],
      waitForLeaders: true,
    }),
  );
  producer = await connectProducer({
    settings,
    log: createLog({ part: 'test', level: 'error' }),
    clientId: 'test',
    timeout: 20_000,
    linger: 1,
    pollInterval: 1,
    maxQueued: { records: 1000, bytes: 1 << 20 },
  });
});
afterAll(async () => {
  await producer.close(1000);
  await withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [topic] }));
});

it('the producer calls back once per record, also when records share a callback', async () => {
  const offsets: number[] = [];
  await new Promise<void>((resolve, reject) => {
    const done = (error: Error | undefined, offset: number) => {
      if (error) reject(error);
      offsets.push(offset);
      if (offsets.length === 5) resolve();
    };
    for (let record = 0; record < 5; record++)
      producer.send({ topic, partition: 0, key: null, value: Buffer.from(String(record)) }, done);
  });
  expect(offsets).toEqual([0, 1, 2, 3, 4]);
});

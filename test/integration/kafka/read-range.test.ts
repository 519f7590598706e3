import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { readRange } from '../../../platform/kafka/read-range.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { readyStack } from '../../support/stack.ts';
import { connectTestProducer } from '../../support/producer.ts';

it('a range ends although records keep being appended after it', async () => {
  const settings = parseSettings(kafkaSettings, { KAFKA_BROKERS: readyStack().kafka_brokers });
  const topic = `read-range-${randomBytes(4).toString('hex')}`;
  await withKafkaAdmin(settings, (admin) =>
    admin.createTopics({
      waitForLeaders: true,
      topics: [{ topic, numPartitions: 1, replicationFactor: 1 }],
    }),
  );
  const producer = await connectTestProducer(settings);
  const send = (n: number) =>
    producer.publish({ topic, partition: 0, key: null, value: Buffer.from(String(n)) });
  let sent = 0;
  while (sent < 3) await send(sent++);
  const trickle = setInterval(() => void send(sent++), 50);
  try {
    const values: string[] = [];
    for await (const messages of readRange({
      settings,
      clientId: 'test',
      range: { topic, partition: 0, from: 0, to: 3 },
      signal: new AbortController().signal,
    }))
      values.push(...messages.map(({ value }) => String(value)));
    expect(values).toEqual(['0', '1', '2']);
  } finally {
    clearInterval(trickle);
    await producer.close(5000);
    await withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [topic] }));
  }
}, 60_000);

import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maxMessageBytes, withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { connectProducer, PublishFailed } from '../../../platform/kafka/producer.ts';
import { createLog } from '../../../platform/log.ts';
import { stackKafka } from '../../support/read-topic.ts';

const topic = `test.too-large.${randomUUID()}`;
const settings = stackKafka();

beforeAll(async () => {
  await withKafkaAdmin(settings, (admin) =>
    admin.createTopics({
      topics: [
        {
          ...{ topic, numPartitions: 1, replicationFactor: 1 },
          configEntries: [{ name: 'max.message.bytes', value: '2000' }],
        },
      ],
      waitForLeaders: true,
    }),
  );
});

afterAll(async () => {
  await withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [topic] }));
});

/** Publishes one after the other; the codes of the answers, 0 for an acknowledgement. */
async function codesOf(isGapless: boolean): Promise<number[]> {
  const producer = await connectProducer({
    ...{ settings, log: createLog({ part: 'test', level: 'silent' }), clientId: 'test' },
    ...{ timeout: 20_000, linger: 1, pollInterval: 1, batchBytes: 1, isGapless },
    maxQueued: { records: 1000, bytes: 1 << 20 },
  });
  const codes: number[] = [];
  for (const bytes of [10, 3000, 10, 3000, 10])
    await producer
      .publish({ topic, partition: 0, key: null, value: randomBytes(bytes) })
      .then(() => codes.push(0))
      .catch((error: unknown) => codes.push(error instanceof PublishFailed ? error.kafkaCode : -1));
  await producer.close(1000);
  return codes;
}

describe('a record that exceeds max.message.bytes', () => {
  it('ends a producer that is gap-less: nothing after it is appended', async () => {
    const [first, refused, ...rest] = await codesOf(true);
    expect([first, refused]).toEqual([0, 10]);
    for (const code of rest) expect(code).toBeLessThan(0);
  });

  it('fails alone with one that is not: this is how the gateway isolates such records', async () => {
    expect(await codesOf(false)).toEqual([0, 10, 0, 10, 0]);
  });

  it('is foreseeable: the limit of a topic can be read', async () => {
    const limits = await maxMessageBytes(settings, { topics: [topic], ms: 20_000 });
    expect(limits).toEqual(new Map([[topic, 2000]]));
  });
});

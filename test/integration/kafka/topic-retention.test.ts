import { randomUUID } from 'node:crypto';
import kafkajs, { type Admin } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureRetention, LongerRetention } from '../../../deploy/topic-retention.ts';
import { ensureTopics } from '../../../deploy/topics.ts';
import { kafkajsConnection } from '../../../platform/kafka/connection.ts';
import { stackKafka } from '../../support/read-topic.ts';

const HOUR = 3_600_000;
const created: string[] = [];
let admin: Admin;

beforeAll(async () => {
  admin = new kafkajs.Kafka(kafkajsConnection(stackKafka(), 'test')).admin();
  await admin.connect();
});
afterAll(async () => {
  await admin.deleteTopics({ topics: created });
  await admin.disconnect();
});

/** A topic with these settings, which the plan says to keep for `retention` ms. */
async function topicWith(config: Record<string, string>, retention: number) {
  const topic = `retention-${randomUUID()}`;
  const plan = { topic, partitions: 1, retention, config };
  await ensureTopics({ admin, plans: [plan], replication: 1, minIsr: 1 });
  created.push(topic);
  return plan;
}

async function configOf(topic: string): Promise<(name: string) => string | undefined> {
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  const { resources } = await admin.describeConfigs({
    ...{ includeSynonyms: false, resources: [{ type, name: topic }] },
  });
  return (name) =>
    resources[0]?.configEntries.find(({ configName }) => configName === name)?.configValue;
}

describe('an existing topic', () => {
  it('that deletes by size does so no longer, and keeps its other settings', async () => {
    const plan = await topicWith({ 'retention.bytes': '1000000', 'max.message.bytes': '4242' }, 0);
    expect(await ensureRetention(admin, [plan])).toEqual([
      `${plan.topic} keeps its records whatever their size instead of 1000000 bytes a partition`,
    ]);
    const config = await configOf(plan.topic);
    expect([
      config('retention.bytes'),
      config('max.message.bytes'),
      config('retention.ms'),
    ]).toEqual(['-1', '4242', '-1']);
    expect(await ensureRetention(admin, [plan])).toEqual([]);
  });

  it('is lengthened to what is planned, and never shortened', async () => {
    const plan = await topicWith({}, HOUR);
    expect(await ensureRetention(admin, [{ ...plan, retention: 2 * HOUR }])).toEqual([
      `${plan.topic} keeps its records 2 hours instead of 1 hours`,
    ]);
    expect((await configOf(plan.topic))('retention.ms')).toBe(String(2 * HOUR));
    await expect(ensureRetention(admin, [plan])).rejects.toThrow(LongerRetention);
    expect((await configOf(plan.topic))('retention.ms')).toBe(String(2 * HOUR));
  });
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { committedOffsets, withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { commitOffsets } from '../../../platform/kafka/commit-offsets.ts';
import { startPartitionConsumer } from '../../../platform/kafka/consumer.ts';
import { groupMembers } from '../../../platform/kafka/group-members.ts';
import { createLog } from '../../../platform/log.ts';
import { connectTestProducer } from '../../support/producer.ts';
import { stackKafka } from '../../support/read-topic.ts';
import { eventually } from '../../support/stack.ts';

const topic = `commit-offsets-${randomUUID()}`;
const settings = stackKafka();
const committed = (group: string) =>
  withKafkaAdmin(settings, (admin) => committedOffsets(admin, group, topic));

beforeAll(async () => {
  const topics = [{ topic, numPartitions: 2, replicationFactor: 1 }];
  await withKafkaAdmin(settings, (admin) => admin.createTopics({ waitForLeaders: true, topics }));
  const producer = await connectTestProducer(settings);
  for (const partition of [0, 0, 0, 1])
    await producer.publish({ topic, partition, key: null, value: Buffer.from('x') });
  await producer.close(5000);
});
afterAll(() => withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [topic] })));

it('the offsets of a group are set and nothing joins it, so that a kill leaves no member', async () => {
  const group = randomUUID();
  await commitOffsets(settings, { group, topic, offsets: new Map([[0, 2]]) });
  await commitOffsets(settings, { group, topic, offsets: new Map([[1, 1]]) });
  expect([...(await committed(group))].sort()).toEqual([
    [0, 2],
    [1, 1],
  ]);
  const { groups } = await withKafkaAdmin(settings, (admin) => admin.describeGroups([group]));
  // A group has a protocol from its first member on.
  expect(groups).toMatchObject([{ state: 'Empty', protocol: '', members: [] }]);
});

it.each(['', 'static'])(
  'a group with a member (instance id "%s") is refused',
  async (instanceId) => {
    const group = randomUUID();
    const log = createLog({ part: 'test', level: 'fatal' });
    const consumer = await startPartitionConsumer({
      ...{ settings, log, groupId: group, topic, instanceId, clientId: 'test' },
      batch: { records: 1000, bytes: 1_000_000, linger: 5, interval: 25 },
      crash: () => undefined,
      assigned: () =>
        Promise.resolve({
          from: undefined,
          process: (messages) => Promise.resolve((messages.at(-1)?.offset ?? 0) + 1),
          release: () => Promise.resolve(),
        }),
    });
    try {
      await eventually({ ms: 30_000, waitingFor: 'everything to be processed' }, async () =>
        [...(await committed(group)).values()].join() === '3,1' ? true : undefined,
      );
      const offsets = new Map([[0, 1]]);
      await expect(commitOffsets(settings, { group, topic, offsets })).rejects.toThrow();
      expect((await committed(group)).get(0)).toBe(3);
    } finally {
      await consumer.close();
    }
    await eventually({ ms: 30_000, waitingFor: 'the group to be empty' }, async () =>
      withKafkaAdmin(settings, async (admin) =>
        (await groupMembers(admin, settings, [group])).get(group)?.length === 0 ? true : undefined,
      ),
    );
    await commitOffsets(settings, { group, topic, offsets: new Map([[0, 1]]) });
    expect((await committed(group)).get(0)).toBe(1);
  },
);

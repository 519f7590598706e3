import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { partitionOf } from '../../../events/partition.ts';
import { sampleEvent, sampleRecord } from '../../../events/testing/raw-records.ts';
import { kafkajsConnection } from '../../../platform/kafka/connection.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { rawRecordCodec } from '../../../schemas/codec.ts';
import { readTopic, stackKafka } from '../../support/read-topic.ts';
import { createAccount, eventually, ravand, rows, type TestAccount } from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { connectTestProducer } from '../../support/producer.ts';

const TABLE = 'events_resumed_test';
const settings = stackKafka();
const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'test')).admin();
const client = openClickhouse();
let producer: LogProducer;
let account: TestAccount;
let sequence = 0;

beforeAll(async () => {
  producer = await connectTestProducer(settings);
  await admin.connect();
  account = await createAccount('resumed rebuild');
  await client.command({ query: `DROP TABLE IF EXISTS ${TABLE} SYNC` });
});
afterAll(async () => {
  await client.command({ query: `DROP TABLE IF EXISTS ${TABLE} SYNC` });
  await Promise.all([producer.close(5000), admin.disconnect()]);
});

/** Puts an event into the log past the gateway, which would not let a repeat through. */
async function log(messageId: string, name: string): Promise<void> {
  const partitions = await producer.partitions('events.raw', 5000);
  const partition = partitionOf({ accountId: account.accountId, distinctId: name, partitions });
  const now = Date.now();
  const record = sampleRecord([sampleEvent(messageId, { user_id: name })], {
    ...{
      account_id: account.accountId,
      gateway: 'test-of-a-resumed-rebuild',
      sequence: sequence++,
      received_at: now,
    },
  });
  const items = record.items.map((item) => ({ ...item, timestamp: now }));
  await producer.publish({
    topic: 'events.raw',
    partition,
    key: null,
    value: rawRecordCodec.encode({ ...record, items }),
  });
}

const stored = async () =>
  (
    await rows<{ id: string }>(
      client,
      'SELECT message_id AS id FROM events WHERE account_id = {a:UInt64} ORDER BY id',
      { a: account.accountId },
    )
  ).map(({ id }) => id);
const storedAre = (ids: readonly string[]) =>
  eventually({ ms: 30_000, waitingFor: ids.join(', ') }, async () =>
    (await stored()).join() === ids.join() ? true : undefined,
  );
const rebuild = async () =>
  JSON.parse(await ravand('rebuild', 'events', '--into', 'resumed_test', '--json')) as {
    state: string;
  };

/**
 * As after 30 days: the topic of verdicts has lost what it knew. Answers what brings it back: other
 * tests ask for verdicts of their events.
 */
async function loseVerdicts(): Promise<() => Promise<void>> {
  const topic = 'events.verdicts';
  const ends = await admin.fetchTopicOffsets(topic);
  const offsets = (at: 'low' | 'high') =>
    new Map(ends.map((one) => [one.partition, Number(one[at])]));
  const held = await readTopic({ topic, from: offsets('low'), to: offsets('high') });
  await admin.deleteTopicRecords({
    topic,
    partitions: ends.map(({ partition, high }) => ({ partition, offset: high })),
  });
  return async () => {
    for (const { partition, value } of held)
      await producer.publish({ topic, partition, key: null, value });
  };
}

it('a rebuild that another process resumes knows the dedupe keys of the first one where no verdicts are retained', async () => {
  await log('m1', 'u-1');
  await log('m2', 'u-2');
  await storedAre(['m1', 'm2']);
  expect(await rebuild()).toMatchObject({ state: 'caught up' });
  // Repeats of what the first process has taken; then one event of each person that tells that they
  // were taken.
  await log('m1', 'u-1');
  await log('m2', 'u-2');
  await log('m3', 'u-1');
  await log('m4', 'u-2');
  await storedAre(['m1', 'm2', 'm3', 'm4']);
  const restore = await loseVerdicts();
  try {
    expect(await rebuild()).toMatchObject({ state: 'caught up' });
    const sql = `SELECT message_id AS id, _partition, _offset, _index FROM ? WHERE account_id = {a:UInt64} ORDER BY ALL`;
    const all = (table: string) => rows(client, sql.replace('?', table), { a: account.accountId });
    expect(await all(TABLE)).toEqual(await all('events'));
  } finally {
    await restore();
  }
});

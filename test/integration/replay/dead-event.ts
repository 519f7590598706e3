import { createHash } from 'node:crypto';
import kafkajs from 'kafkajs';
import { kafkajsConnection } from '../../../platform/kafka/connection.ts';
import { connectProducer } from '../../../platform/kafka/producer.ts';
import { createLog } from '../../../platform/log.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { deadLetterCodec, rawRecordCodec, verdictRecordCodec } from '../../../schemas/codec.ts';
import { readTopic, topicEnds } from '../../support/read-topic.ts';
import { eventually, ravand, readyStack } from '../../support/stack.ts';

/**
 * Leaves an event behind as a normaliser does that could not process it: accepted and in
 * events.raw, passed by the group, with its verdict and its letter, and without a row. The
 * normaliser of today can process it: what a release with a fault leaves, once it is repaired.
 */
export async function leaveDeadEvent(
  send: () => Promise<void>,
): Promise<{ partition: number; offset: number }> {
  const settings = parseSettings(kafkaSettings, { KAFKA_BROKERS: readyStack().kafka_brokers });
  await ravand('stop', 'normaliser');
  const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'test')).admin();
  await admin.connect();
  const maxQueued = { records: 1000, bytes: 16 * 2 ** 20 };
  const log = createLog({ part: 'test', level: 'fatal' });
  const producer = await connectProducer({
    settings,
    log,
    clientId: 'test',
    timeout: 10_000,
    linger: 1,
    pollInterval: 5,
    maxQueued,
  });
  try {
    const before = await topicEnds('events.raw');
    await send();
    const after = await eventually({ ms: 10_000, waitingFor: 'the raw record' }, async () => {
      const ends = await topicEnds('events.raw');
      return [...ends].some(([partition, end]) => end > (before.get(partition) ?? 0))
        ? ends
        : undefined;
    });
    const [message] = await readTopic({ topic: 'events.raw', from: before, to: after });
    if (!message) throw new Error('the raw record cannot be read');
    const { partition, offset, value } = message;
    const record = rawRecordCodec.decode(value);
    await eventually({ ms: 20_000, waitingFor: 'the group to be empty' }, async () =>
      (await admin.describeGroups(['normaliser'])).groups[0]?.members.length === 0
        ? true
        : undefined,
    );
    await admin.setOffsets({
      groupId: 'normaliser',
      topic: 'events.raw',
      partitions: [{ partition, offset: String(offset + 1) }],
    });
    const verdicts = record.items.map((_, index) => ({
      offset,
      index,
      account_id: record.account_id,
      received_at: record.received_at,
      verdict: 'dead' as const,
    }));
    await producer.publish({
      topic: 'events.verdicts',
      partition,
      key: null,
      value: verdictRecordCodec.encode({ partition, verdicts }),
    });
    const letter = {
      ...{
        stage: 'normalise',
        reason: 'not_normalisable',
        detail: 'a fault of an earlier release',
        fingerprint: createHash('sha256').update('x').digest('hex').slice(0, 16),
      },
      ...{
        topic: 'events.raw',
        partition,
        offset,
        index: null,
        events: record.items.length,
        account_id: record.account_id,
        message_id: '',
      },
      ...{ failed_at: Date.now(), appended_at: Date.now(), key: null, value },
    };
    await producer.publish({
      topic: 'events.dead',
      partition: 0,
      key: null,
      value: deadLetterCodec.encode(letter),
    });
    return { partition, offset };
  } finally {
    await producer.close(5000);
    await admin.disconnect();
    await ravand('start', 'normaliser');
  }
}

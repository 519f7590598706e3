import { createHash } from 'node:crypto';
import kafkajs from 'kafkajs';
import { commitOffsets } from '../../../platform/kafka/commit-offsets.ts';
import { kafkajsConnection } from '../../../platform/kafka/connection.ts';
import { groupMembers } from '../../../platform/kafka/group-members.ts';
import { deadLetterCodec, rawRecordCodec, verdictRecordCodec } from '../../../schemas/codec.ts';
import { readTopic, stackKafka, topicEnds } from '../../support/read-topic.ts';
import { eventually, ravand } from '../../support/stack.ts';
import { connectTestProducer } from '../../support/producer.ts';

/**
 * Leaves an event as a faulty release of the normaliser leaves it: in events.raw, behind the offset
 * of the group, with a verdict and a dead letter, without a row. The present normaliser can process
 * it.
 */
export async function leaveDeadEvent(
  send: () => Promise<void>,
): Promise<{ partition: number; offset: number }> {
  const settings = stackKafka();
  await ravand('stop', 'normaliser');
  const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'test')).admin();
  await admin.connect();
  const producer = await connectTestProducer(settings);
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
      (await groupMembers(admin, settings, ['normaliser'])).get('normaliser')?.length === 0
        ? true
        : undefined,
    );
    const offsets = new Map([[partition, offset + 1]]);
    await commitOffsets(settings, { group: 'normaliser', topic: 'events.raw', offsets });
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
    const deadLetter = {
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
        indexes: [],
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
      value: deadLetterCodec.encode(deadLetter),
    });
    return { partition, offset };
  } finally {
    await producer.close(5000);
    await admin.disconnect();
    await ravand('start', 'normaliser');
  }
}

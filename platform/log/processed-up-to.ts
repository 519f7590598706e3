import type { Admin } from 'kafkajs';
import { isUnknownSchema, rowBatchCodec } from '../../schemas/codec.ts';
import {
  BEFORE_FIRST,
  LAST_INDEX,
  type EventOffset,
  type PartitionPosition,
} from '../../schemas/log-position.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';
import { committedOffsets, topicEnds } from '../kafka/admin.ts';
import type { KafkaSettings } from '../kafka/connection.ts';
import { readRange } from '../kafka/read-range.ts';

const RAW = TOPIC.raw;
const NORMALISED = TOPIC.normalised;

interface LogQuery {
  settings: KafkaSettings;
  admin: Admin;
  signal: AbortSignal;
}

/**
 * By raw partition, the last position up to which the normaliser has decided everything and `group`
 * (events-sink, profiles-sink …) has processed every row: the live path never adds anything at or
 * below it. The order of the reads matters: the commits of the normaliser, then the high watermarks
 * of events.normalised, then the commits of the group.
 */
export async function processedUpTo(
  question: LogQuery,
  group: string,
): Promise<Map<number, EventOffset>> {
  const { admin } = question;
  const decided = await committedOffsets(admin, GROUP.normaliser, RAW);
  const ends = await topicEnds(admin, NORMALISED);
  const processed = await committedOffsets(admin, group, NORMALISED);
  const bounds = new Map<number, EventOffset>();
  for (const { partition, low, high } of ends) {
    const next = Math.max(low, processed.get(partition) ?? low);
    const all = { offset: (decided.get(partition) ?? 0) - 1, index: LAST_INDEX };
    if (next >= high) bounds.set(partition, all);
    else {
      const last = await lastPublished(question, { partition, low, next });
      bounds.set(partition, { offset: last.offset, index: last.index });
    }
  }
  return bounds;
}

/** The last position of the last readable row batch of events.normalised before `next`. */
export async function lastPublished(
  { settings, signal }: Omit<LogQuery, 'admin'>,
  of: { partition: number; low: number; next: number; topic?: string },
): Promise<PartitionPosition> {
  const { partition, low, next, topic = NORMALISED } = of;
  for (let to = next; to > low; to--) {
    const range = { topic, partition, from: to - 1, to };
    for await (const messages of readRange({
      settings,
      clientId: 'ravand-operate',
      range,
      signal,
    })) {
      const value = messages[0]?.value;
      const head = value ? headOf(value) : undefined;
      if (head) return { epoch: head.epoch, offset: head.last_offset, index: head.last_index };
    }
  }
  return BEFORE_FIRST;
}

function headOf(
  value: Buffer,
): { epoch: number; last_offset: number; last_index: number } | undefined {
  try {
    return sliceRowBatch(value)?.head ?? rowBatchCodec.decode(value);
  } catch (error) {
    if (isUnknownSchema(error)) throw error;
    return undefined;
  }
}

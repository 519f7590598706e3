import type { Admin } from 'kafkajs';
import { LAST_INDEX, type EventOffset } from '../../schemas/log-position.ts';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { rowBatchCodec } from '../../schemas/codec.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';

const RAW = TOPIC.raw;
const NORMALISED = TOPIC.normalised;

interface Question {
  settings: KafkaSettings;
  admin: Admin;
  signal: AbortSignal;
}

/** Nothing yet. */
const NOWHERE: EventOffset = { offset: -1, index: -1 };

/**
 * By raw partition the last place up to which everything is decided and, where it became a row,
 * taken by `group` (events-sink, profiles-sink …): the live path will never add anything at or
 * below it. An order of looks decides: what the normaliser committed, then the ends of
 * events.normalised, then what the group committed.
 */
export async function takenUpTo(
  question: Question,
  group: string,
): Promise<Map<number, EventOffset>> {
  const { admin } = question;
  const decided = await committedOffsets(admin, GROUP.normaliser, RAW);
  const ends = await topicEnds(admin, NORMALISED);
  const taken = await committedOffsets(admin, group, NORMALISED);
  const bounds = new Map<number, EventOffset>();
  for (const { partition, low, high } of ends) {
    const next = Math.max(low, taken.get(partition) ?? low);
    const all = { offset: (decided.get(partition) ?? 0) - 1, index: LAST_INDEX };
    if (next >= high) bounds.set(partition, all);
    else bounds.set(partition, await lastPlaceBefore(question, { partition, low, next }));
  }
  return bounds;
}

/**
 * Where a fold of the raw log ends and the reading of events.normalised takes over: every row
 * behind `upTo` lies at or behind `from`.
 */
export interface Handover {
  upTo: EventOffset;
  from: number;
}

/**
 * One handover a partition. The order of looks decides: first the ends of events.normalised, then
 * what the normaliser committed.
 */
export async function handovers(question: Question): Promise<Map<number, Handover>> {
  const { admin } = question;
  const found = new Map<number, Handover>();
  const ends = await topicEnds(admin, NORMALISED);
  const last = new Map<number, EventOffset>();
  for (const { partition, low, high } of ends)
    last.set(partition, await lastPlaceBefore(question, { partition, low, next: high }));
  const decided = await committedOffsets(admin, GROUP.normaliser, RAW);
  for (const { partition, high } of ends) {
    const place = last.get(partition) ?? NOWHERE;
    const next = decided.get(partition) ?? 0;
    found.set(partition, {
      upTo: next > place.offset ? { offset: next - 1, index: LAST_INDEX } : place,
      from: high,
    });
  }
  return found;
}

/** The last place of the last readable run before `next`. */
async function lastPlaceBefore(
  { settings, signal }: Question,
  { partition, low, next }: { partition: number; low: number; next: number },
): Promise<EventOffset> {
  for (let to = next; to > low; to--) {
    const range = { topic: NORMALISED, partition, from: to - 1, to };
    for await (const messages of readRange({
      settings,
      clientId: 'ravand-operate',
      range,
      signal,
    })) {
      const value = messages[0]?.value;
      const head = value ? headOf(value) : undefined;
      if (head) return { offset: head.last_offset, index: head.last_index };
    }
  }
  return NOWHERE;
}

function headOf(value: Buffer): { last_offset: number; last_index: number } | undefined {
  try {
    return sliceRowBatch(value)?.head ?? rowBatchCodec.decode(value);
  } catch {
    return undefined;
  }
}

import { GROUP, TOPIC } from '../../schemas/topology.ts';
import type { Admin } from 'kafkajs';
import { BEFORE_FIRST_EVENT, LAST_INDEX, type EventOffset } from '../../schemas/log-position.ts';
import {
  committedOffsets,
  offsetsAt,
  topicEnds,
  type PartitionEnds,
} from '../../platform/kafka/admin.ts';
import { CommandError } from '../../cli/command.ts';
import { timeText } from '../../cli/format.ts';
import type { ReplayRequest } from './request.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { isUnknownSchema, rowBatchCodec } from '../../schemas/codec.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';

/** Offsets of one partition of the replayed topic: `from` included, `to` not. */
export interface PartitionRange {
  partition: number;
  from: number;
  to: number;
}

/**
 * The requested offsets, cut at the high watermarks. Throws CommandError when the beginning is not
 * retained, and names the offsets that are.
 */
export async function requestedRanges(
  admin: Admin,
  { topic, from, to, offsets }: ReplayRequest,
): Promise<PartitionRange[]> {
  const ends = await topicEnds(admin, topic);
  if (offsets.length > 0)
    return offsets.map(({ partition, first, last }) =>
      withinPartition(ends, { topic, partition, from: first, to: last + 1 }),
    );
  if (from !== undefined) await requireRetained(admin, { topic, from, ends });
  const starts = from === undefined ? undefined : await offsetsAt(admin, topic, from);
  const stops = to === undefined ? undefined : await offsetsAt(admin, topic, to);
  return ends.map(({ partition, low, high }) => ({
    partition,
    from: starts ? (starts.get(partition) ?? high) : low,
    to: stops?.get(partition) ?? high,
  }));
}

function withinPartition(
  ends: readonly PartitionEnds[],
  { topic, partition, from, to }: PartitionRange & { topic: string },
): PartitionRange {
  const found = ends.find((one) => one.partition === partition);
  if (!found)
    throw new CommandError(
      `${topic} has no partition ${partition}: it has 0 to ${ends.length - 1}`,
    );
  const { low, high } = found;
  const there =
    low === high ? 'the log has no record of it' : `the log has ${partition}:${low}-${high - 1}`;
  if (from < low)
    throw new CommandError(`${topic} does not hold ${partition}:${from} any more: ${there}`);
  if (from >= high)
    throw new CommandError(`${topic} has no record ${partition}:${from} yet: ${there}`);
  return { partition, from, to: Math.min(to, high) };
}

/** Retention deletes from the beginning: a partition that begins with offset 0 is complete. */
async function requireRetained(
  admin: Admin,
  { topic, from, ends }: { topic: string; from: number; ends: readonly PartitionEnds[] },
): Promise<void> {
  const cut = ends.filter(({ low }) => low > 0);
  if (cut.length === 0) return;
  const found = await offsetsAt(admin, topic, from);
  // If the first retained record is later than `from`, records between them may be deleted.
  const gone = cut.filter(({ partition, low }) => found.get(partition) === low);
  if (gone.length === 0) return;
  const kept = gone.map(({ partition, low, high }) => `${partition}:${low}-${high - 1}`).join(', ');
  throw new CommandError(
    `${topic} does not reach back to ${timeText(from)} any more; it holds ${kept}. Replay events.raw instead if its retention is longer`,
  );
}

/**
 * Cuts the ranges at the positions that the live services have processed. `leftToLive`: records
 * that are left to them.
 */
export function cutAtBounds(
  ranges: readonly PartitionRange[],
  bounds: ReadonlyMap<number, EventOffset>,
): { ranges: PartitionRange[]; leftToLive: number } {
  let leftToLive = 0;
  const cut = ranges.map((range) => {
    // A partly processed record belongs to the live path as a whole.
    const bound = bounds.get(range.partition);
    const end =
      bound === undefined
        ? range.from
        : bound.index >= LAST_INDEX
          ? bound.offset + 1
          : bound.offset;
    const to = Math.max(range.from, Math.min(range.to, end));
    leftToLive += Math.max(0, range.to - to);
    return { ...range, to };
  });
  return { ranges: cut, leftToLive };
}

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
    else bounds.set(partition, await lastPositionBefore(question, { partition, low, next }));
  }
  return bounds;
}

/** Where a fold of the raw log ends: rows after `upTo` in events.normalised are from `from` on. */
export interface Handover {
  upTo: EventOffset;
  from: number;
}

/**
 * One handover per partition. The order of the reads matters: first the high watermarks of
 * events.normalised, then the commits of the normaliser.
 */
export async function handovers(question: LogQuery): Promise<Map<number, Handover>> {
  const { admin } = question;
  const found = new Map<number, Handover>();
  const ends = await topicEnds(admin, NORMALISED);
  const last = new Map<number, EventOffset>();
  for (const { partition, low, high } of ends)
    last.set(partition, await lastPositionBefore(question, { partition, low, next: high }));
  const decided = await committedOffsets(admin, GROUP.normaliser, RAW);
  for (const { partition, high } of ends) {
    const position = last.get(partition) ?? BEFORE_FIRST_EVENT;
    const next = decided.get(partition) ?? 0;
    found.set(partition, {
      upTo: next > position.offset ? { offset: next - 1, index: LAST_INDEX } : position,
      from: high,
    });
  }
  return found;
}

/** The last position of the last readable row batch before `next`. */
async function lastPositionBefore(
  { settings, signal }: LogQuery,
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
  return BEFORE_FIRST_EVENT;
}

function headOf(value: Buffer): { last_offset: number; last_index: number } | undefined {
  try {
    return sliceRowBatch(value)?.head ?? rowBatchCodec.decode(value);
  } catch (error) {
    if (isUnknownSchema(error)) throw error;
    return undefined;
  }
}

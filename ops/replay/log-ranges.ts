import type { Admin } from 'kafkajs';
import { LAST_INDEX, type EventOffset } from '../../schemas/log-position.ts';
import { offsetsAt, topicEnds, type PartitionEnds } from '../../platform/kafka/admin.ts';
import { CommandError } from '../../cli/command.ts';
import { timeText } from '../../cli/format.ts';
import type { ReplayRequest } from './request.ts';

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

import type { Admin } from 'kafkajs';
import type { EventOffset } from '../../schemas/log-position.ts';
import { topicEnds, type PartitionEnds } from '../../platform/kafka/admin.ts';
import { CommandError } from '../../cli/command.ts';
import { timeText } from '../../cli/format.ts';
import type { ReplayRequest } from './request.ts';

/** Offsets of one partition of the replayed topic: `from` included, `to` not. */
export interface Span {
  partition: number;
  from: number;
  to: number;
}

/**
 * The offsets that a request names, as they are now. Throws Refusal when the log does not hold its
 * beginning any more, and says what is there; a range that goes beyond the end of the log ends with
 * it.
 */
export async function spansOf(
  admin: Admin,
  { topic, from, to, offsets }: ReplayRequest,
): Promise<Span[]> {
  const ends = await topicEnds(admin, topic);
  if (offsets.length > 0)
    return offsets.map(({ partition, first, last }) =>
      inside(ends, { topic, partition, from: first, to: last + 1 }),
    );
  if (from !== undefined) await refuseIfGone(admin, { topic, from, ends });
  const at = async (time: number) =>
    new Map(
      (await admin.fetchTopicOffsetsByTimestamp(topic, time)).map((one) => [
        one.partition,
        Number(one.offset),
      ]),
    );
  const begins = from === undefined ? undefined : await at(from);
  const finishes = to === undefined ? undefined : await at(to);
  return ends.map(({ partition, low, high }) => ({
    partition,
    from: known(begins?.get(partition), from === undefined ? low : high),
    to: known(finishes?.get(partition), high),
  }));
}

/** Kafka answers -1 where no record is as late as that. */
function known(offset: number | undefined, otherwise: number): number {
  return offset === undefined || offset < 0 ? otherwise : offset;
}

function inside(
  ends: readonly PartitionEnds[],
  { topic, partition, from, to }: Span & { topic: string },
): Span {
  const found = ends.find((one) => one.partition === partition);
  if (!found)
    throw new CommandError(
      `${topic} has no partition ${partition}: it has 0 to ${ends.length - 1}`,
    );
  const { low, high } = found;
  const there =
    low === high ? 'the log holds nothing of it' : `the log holds ${partition}:${low}-${high - 1}`;
  if (from < low)
    throw new CommandError(`${topic} does not hold ${partition}:${from} any more: ${there}`);
  if (from >= high)
    throw new CommandError(`${topic} has no record ${partition}:${from} yet: ${there}`);
  return { partition, from, to: Math.min(to, high) };
}

/**
 * Records are dropped from the beginning, so a partition that begins with offset 0 has everything.
 */
async function refuseIfGone(
  admin: Admin,
  { topic, from, ends }: { topic: string; from: number; ends: readonly PartitionEnds[] },
): Promise<void> {
  const cut = ends.filter(({ low }) => low > 0);
  if (cut.length === 0) return;
  const found = new Map(
    (await admin.fetchTopicOffsetsByTimestamp(topic, from)).map((one) => [
      one.partition,
      Number(one.offset),
    ]),
  );
  // Where the first kept record is already later than `from`, something between them may be gone.
  const gone = cut.filter(({ partition, low }) => (found.get(partition) ?? -1) === low);
  if (gone.length === 0) return;
  const kept = gone.map(({ partition, low, high }) => `${partition}:${low}-${high - 1}`).join(', ');
  throw new CommandError(
    `${topic} does not reach back to ${timeText(from)} any more; it holds ${kept}. What reaches further back is read from events.raw, if that does`,
  );
}

/**
 * The spans without what lies above the bounds: there the live path is at work. `held`: how many
 * records were left to it.
 */
export function belowBounds(
  spans: readonly Span[],
  bounds: ReadonlyMap<number, EventOffset>,
): { spans: Span[]; held: number } {
  let held = 0;
  const cut = spans.map((span) => {
    // A record that is decided in part belongs to the live path as a whole.
    const bound = bounds.get(span.partition);
    const end =
      bound === undefined ? span.from : bound.index >= WHOLE ? bound.offset + 1 : bound.offset;
    const to = Math.max(span.from, Math.min(span.to, end));
    held += Math.max(0, span.to - to);
    return { ...span, to };
  });
  return { spans: cut, held };
}

const WHOLE = 0xffff;

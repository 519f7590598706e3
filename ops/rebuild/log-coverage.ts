import { TOPIC, type Topic } from '../../schemas/topology.ts';
import {
  VERSION_EPOCH,
  VERSION_OFFSET,
  VERSION_PARTITION,
} from '../../projections/messages/version.ts';
import { offsetsAt, topicEnds } from '../../platform/kafka/admin.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { timeText } from '../../cli/format.ts';
import { openVerdicts } from '../replay/verdicts.ts';
import type { Connections } from '../jobs/connections.ts';
import type { RebuildProgress } from '../../projections/rebuild-target.ts';

const DAY = 86_400_000;

interface GapOptions {
  connections: Connections;
  topic: string;
  /** Days that the table keeps; undefined: unlimited. */
  keeps: number | undefined;
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
}

/**
 * What a table that is filled from the log lacks, one sentence for each partition: the log no
 * longer reaches back to what the table keeps, or stored rows have positions that the log does not
 * hold any more, because it went back or was recreated.
 */
export async function logGaps(options: GapOptions): Promise<string[]> {
  const { connections, topic, keeps, now, signal } = options;
  const { settings, admin } = connections;
  const gaps: string[] = [];
  const ends = await topicEnds(admin, topic);
  for (const { partition, low, high } of ends) {
    if (low === 0) continue;
    const what = `${topic} ${partition} begins at offset ${low}`;
    if (low === high) {
      gaps.push(`${what} and is empty`);
      continue;
    }
    const range = { topic, partition, from: low, to: low + 1 };
    for await (const [first] of readRange({ settings, clientId: 'ravand-rebuild', range, signal }))
      if (first && (keeps === undefined || first.timestamp > now - keeps * DAY))
        gaps.push(
          `${what}, of ${timeText(first.timestamp)}: ${keeps === undefined ? 'the table is computed from all events' : `the table keeps ${keeps} days`}`,
        );
  }
  if (topic === TOPIC.raw) gaps.push(...(await replacedRecords(connections, REPLACED_EVENTS)));
  if (topic === TOPIC.messagesOutcomes)
    gaps.push(...(await replacedRecords(connections, REPLACED_OUTCOMES)));
  return gaps;
}

/** How rows say which record they are made of. */
interface Replaced {
  topic: Topic;
  table: string;
  /** Rows of {partition}, of an epoch before {epoch}, from the offset {at} on. */
  condition: string;
}

const REPLACED_EVENTS: Replaced = {
  topic: TOPIC.raw,
  table: 'events',
  condition: `_partition = {partition:UInt16} AND _epoch < {epoch:UInt16} AND _offset >= {at:UInt64}`,
};
const REPLACED_OUTCOMES: Replaced = {
  topic: TOPIC.messagesOutcomes,
  table: 'messages FINAL',
  condition: `${VERSION_PARTITION} = {partition:UInt16} AND ${VERSION_EPOCH} < {epoch:UInt16} AND ${VERSION_OFFSET} >= {at:UInt64}`,
};

/** Stored rows whose records were replaced by those of a later epoch. */
async function replacedRecords(
  { database, clickhouse }: Connections,
  { topic, table, condition }: Replaced,
): Promise<string[]> {
  const { rows: starts } = await database.query<{ partition: number; epoch: number; at: string }>(
    'SELECT partition, epoch, first_offset AS at FROM log_epochs WHERE topic = $1 ORDER BY partition, epoch',
    [topic],
  );
  const gaps: string[] = [];
  for (const { partition, epoch, at } of starts) {
    const answer = await clickhouse.query({
      query: `SELECT count() AS n FROM ${table} WHERE ${condition}`,
      query_params: { partition, epoch, at: Number(at) },
      format: 'JSONEachRow',
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0, max_execution_time: 600 },
    });
    const [found] = await answer.json<{ n: number }>();
    if (found && found.n > 0)
      gaps.push(
        `${topic} ${partition} was replaced from offset ${at} on (epoch ${epoch}): ${found.n} stored rows are not in it any more`,
      );
  }
  return gaps;
}

/** Maximum clock skew between brokers, ms. */
const CLOCK_SKEW_MS = 60_000;

interface DedupeStartOptions {
  connections: Connections;
  /** Deduplication window, ms. */
  window: number;
  /** Where the job resumes, by partition. */
  positions: ReadonlyMap<number, RebuildProgress>;
  signal: AbortSignal;
}

/**
 * Where no verdicts are retained, a resumed job must read the deduplication window before its
 * positions again, because its earlier process held the keys in memory. Returns where to begin in
 * each partition; empty when verdicts cover every position.
 */
export async function dedupeStart({
  connections,
  window,
  positions,
  signal,
}: DedupeStartOptions): Promise<Map<number, RebuildProgress>> {
  const { settings, admin } = connections;
  let earliest = Number.POSITIVE_INFINITY;
  let isCovered = true;
  const ends = await topicEnds(admin, TOPIC.raw);
  const lowOf = new Map(ends.map(({ partition, low }) => [partition, low]));
  for (const { partition, low, high } of ends) {
    const at = Math.max(low, (positions.get(partition)?.next ?? 0) - 1);
    const range = { topic: TOPIC.raw, partition, from: at, to: Math.min(at + 1, high) };
    for await (const [last] of readRange({ settings, clientId: 'ravand-rebuild', range, signal })) {
      if (!last) continue;
      earliest = Math.min(earliest, last.timestamp);
      const verdicts = await openVerdicts(connections, {
        partition,
        appendedAt: last.timestamp,
        signal,
      });
      await verdicts.log.close();
      isCovered &&= verdicts.coveredFrom <= at + 1;
    }
  }
  if (isCovered) return new Map();
  const offsets = await offsetsAt(admin, TOPIC.raw, earliest - window - CLOCK_SKEW_MS);
  const begin = new Map<number, RebuildProgress>();
  for (const [partition, { next }] of positions) {
    // No record that late: the partition has nothing within the window.
    const start = offsets.get(partition) ?? next;
    begin.set(partition, {
      next: Math.min(next, Math.max(start, lowOf.get(partition) ?? 0)),
      place: { offset: -1, index: -1 },
    });
  }
  return begin;
}

import { TOPIC } from '../../schemas/topology.ts';
import type { Admin } from 'kafkajs';
import { offsetsAt, topicEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { CommandError } from '../../cli/command.ts';
import { timeText } from '../../cli/format.ts';
import { openVerdicts } from '../replay/verdicts.ts';
import type { RebuildProgress } from '../../projections/rebuild-target.ts';

const DAY = 86_400_000;

interface RetentionOptions {
  settings: KafkaSettings;
  admin: Admin;
  topic: string;
  /** Days that the table keeps; undefined: unlimited. */
  keeps: number | undefined;
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
}

/**
 * Throws CommandError when the log does not retain everything that the table must hold: a table
 * filled from it would lack events and look complete.
 */
export async function requireRetainedSince(options: RetentionOptions): Promise<void> {
  const { settings, admin, topic, keeps, now, signal } = options;
  for (const { partition, low, high } of await topicEnds(admin, topic)) {
    if (low === 0) continue;
    const what = `${topic} ${partition} begins at offset ${low}`;
    if (keeps === undefined)
      throw new CommandError(
        `${what}: this table is computed from all events, so the log must reach back to its beginning. Nothing was changed`,
      );
    if (low === high)
      throw new CommandError(
        `${what} and is empty: the table cannot be filled from it. Nothing was changed`,
      );
    for await (const [first] of readRange({
      settings,
      clientId: 'ravand-rebuild',
      range: { topic, partition, from: low, to: low + 1 },
      signal,
    })) {
      if (first && first.timestamp > now - keeps * DAY)
        throw new CommandError(
          `${what}, of ${timeText(first.timestamp)}: the table keeps ${keeps} days, so the log must reach back to ${timeText(now - keeps * DAY)}. Nothing was changed`,
        );
    }
  }
}

/** Maximum clock skew between brokers, ms. */
const CLOCK_SKEW_MS = 60_000;

interface DedupeStartOptions {
  settings: KafkaSettings;
  admin: Admin;
  database: Database;
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
  settings,
  admin,
  database,
  window,
  positions,
  signal,
}: DedupeStartOptions): Promise<Map<number, RebuildProgress>> {
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
      const verdicts = await openVerdicts(
        { settings, admin, database },
        { partition, appendedAt: last.timestamp, signal },
      );
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

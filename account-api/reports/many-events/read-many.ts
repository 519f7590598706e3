import type { ClickHouseSettings } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import type { KillQuery } from '../../../platform/clickhouse/kill-on-abort.ts';
import { CLICKHOUSE_QUERY } from '../../../platform/clickhouse/rows.ts';
import { inStep } from '../../../platform/tracing/request-span.ts';
import type { Merges } from '../../../audiences/people-sql.ts';
import { daySlices, type DaySlice } from './day-slices.ts';
import type { ManyEvents } from './many-events.ts';
import type { EventMemory } from './event-memory.ts';
import type { PartitionedEvents } from './event-partitions.ts';
import type { ReportThread } from './report-thread.ts';
import type { Lease } from './report-threads.ts';

/** A statement of many events takes less, or the statement of its report runs instead, seconds. */
const MAX_SECONDS = 20;

/** Slices for each thread where days have unequally many events. */
const UNEVEN_SLICES = 2;
/** Why the reading of a report ends. */
const NO_MEMORY = Symbol('no memory');

/** `rows` is undefined where the events have no room here. */
export interface ReadMany {
  rows: unknown[] | undefined;
  rowsRead: number;
}

export interface EventsOfReport {
  accountId: number;
  many: ManyEvents;
  merges: Merges;
  /** Limits of a query. */
  settings: ClickHouseSettings;
  /** Ends a query when the signal fires. */
  kill: KillQuery;
  signal: AbortSignal;
}

/**
 * The rows of a report from its events: each thread of the lease reads those of some days into
 * partitions of people, then they count partition by partition. Releases the lease.
 */
export async function readMany(report: EventsOfReport, lease: Lease): Promise<ReadMany> {
  try {
    const reads = await inStep(CLICKHOUSE_QUERY, () => readEvents(report, lease));
    if (!reads) return { rows: undefined, rowsRead: 0 };
    report.signal.throwIfAborted();
    const rowsRead = reads.flatMap(({ counts }) => [...counts]).reduce((sum, one) => sum + one, 0);
    return { rows: await rowsOf(report.many, { reads, lease }), rowsRead };
  } finally {
    await lease.release();
  }
}

/**
 * What the threads have read: each takes the next slice when it has read one, and all end when one
 * fails. Undefined where the memory does not suffice.
 */
async function readEvents(
  report: EventsOfReport,
  { threads, memory }: Lease,
): Promise<PartitionedEvents[] | undefined> {
  const others = new AbortController();
  const signal = AbortSignal.any([report.signal, others.signal]);
  const { times, isUneven } = report.many;
  const slices = daySlices(times, threads.length * (isUneven ? UNEVEN_SLICES : 1));
  const reads: PartitionedEvents[] = [];
  const failures: unknown[] = [];
  const readSlices = async (thread: ReportThread): Promise<void> => {
    for (let days = slices.shift(); days; days = slices.shift()) {
      const read = await readSlice({ ...report, signal }, { thread, memory, days });
      if (read === 'no memory') {
        others.abort(NO_MEMORY);
        return;
      }
      reads.push(read);
    }
  };
  await Promise.all(
    threads.map((thread) =>
      readSlices(thread).catch((error: unknown) => {
        failures.push(error);
        others.abort();
      }),
    ),
  );
  if (others.signal.reason === NO_MEMORY) return undefined;
  if (failures.length > 0) throw failures[0];
  return reads;
}

async function readSlice(
  { accountId, many, merges, settings, kill, signal }: EventsOfReport,
  { thread, memory, days }: { thread: ReportThread; memory: EventMemory; days: DaySlice },
): Promise<PartitionedEvents | 'no memory'> {
  const queryId = randomUUID();
  const abort = () => {
    kill(queryId);
    thread.abort();
  };
  signal.throwIfAborted();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await thread.run('read', {
      ...{ accountId, compiled: many.compile(merges, days), queryId, memory },
      settings: { ...settings, max_execution_time: MAX_SECONDS },
    });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function rowsOf(
  many: ManyEvents,
  { reads, lease: { threads, memory } }: { reads: PartitionedEvents[]; lease: Lease },
): Promise<unknown[]> {
  const job = { memory, reads, counting: many.counting, turn: new SharedArrayBuffer(4) };
  const shares = await Promise.all(threads.map((thread) => thread.run('count', job)));
  const counts = (shares[0]?.counts ?? []).map((_, at) =>
    summed(shares.map((share) => share.counts[at] ?? new Float64Array(0))),
  );
  const values = await Promise.all(
    many.rankings({ counts }).map(({ list, ranks, max }, at) => {
      const lists = shares.flatMap((share) => share.lists[list] ?? []);
      const buffers = lists.map(({ buffer }) => buffer);
      const thread = threads[at % threads.length];
      if (!thread) throw new Error('a report has no thread');
      return thread.run('rank', { lists, ranks, max }, buffers);
    }),
  );
  return many.rows({ counts }, values);
}

function summed(arrays: readonly Float64Array[]): Float64Array<ArrayBuffer> {
  const sum = new Float64Array(arrays[0]?.length ?? 0);
  for (const array of arrays)
    for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] ?? 0) + (array[at] ?? 0);
  return sum;
}

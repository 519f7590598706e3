import type { ClickHouseSettings } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import type { KillQuery } from '../../../platform/clickhouse/kill-on-abort.ts';
import { CLICKHOUSE_QUERY } from '../../../platform/clickhouse/rows.ts';
import { inStep } from '../../../platform/tracing/request-span.ts';
import type { Merges } from '../../../audiences/people-sql.ts';
import type { Counted } from './counted.ts';
import type { ManyEvents } from './many-events.ts';
import type { EventsToRead } from './read-events.ts';
import type { ReportThread } from './report-thread.ts';
import type { Lease } from './report-threads.ts';

/** A statement of many events takes less, or the statement of its report runs instead, seconds. */
const MAX_SECONDS = 20;

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
 * The rows of a report from its events: each thread of the lease reads some of them into
 * partitions of people, then they count partition by partition. Releases the lease.
 */
export async function readMany(report: EventsOfReport, lease: Lease): Promise<ReadMany> {
  try {
    const rowsRead = await inStep(CLICKHOUSE_QUERY, () => readEvents(report, lease));
    if (rowsRead === undefined) return { rows: undefined, rowsRead: 0 };
    report.signal.throwIfAborted();
    return { rows: await rowsOf(report.many, lease), rowsRead };
  } finally {
    await lease.release();
  }
}

/**
 * Reads the events, and answers how many: each thread takes the next statement when it has read
 * one, and all end when one fails. Undefined where the memory does not suffice.
 */
async function readEvents(report: EventsOfReport, { threads }: Lease): Promise<number | undefined> {
  const others = new AbortController();
  const signal = AbortSignal.any([report.signal, others.signal]);
  const all = report.many.statements(report.merges, threads.length);
  const atOnce = Math.min(all.length, threads.length);
  const statements = all.entries();
  let rows = 0;
  const failures: unknown[] = [];
  const readSlices = async (thread: ReportThread): Promise<void> => {
    for (const [slice, compiled] of statements) {
      const read = await readSlice({ ...report, signal }, { thread, slice, compiled, atOnce });
      if (read === 'no memory') {
        others.abort(NO_MEMORY);
        return;
      }
      rows += read;
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
  return rows;
}

interface SliceToRead extends Pick<EventsToRead, 'slice' | 'compiled' | 'atOnce'> {
  thread: ReportThread;
}

async function readSlice(
  { accountId, settings, kill, signal }: EventsOfReport,
  { thread, slice, compiled, atOnce }: SliceToRead,
): Promise<number | 'no memory'> {
  const queryId = randomUUID();
  const abort = () => {
    kill(queryId);
    thread.abort();
  };
  signal.throwIfAborted();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await thread.run('read', {
      ...{ accountId, compiled, queryId, slice, atOnce },
      settings: { ...settings, max_execution_time: MAX_SECONDS },
    });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Undefined where the memory does not suffice. */
async function rowsOf(many: ManyEvents, { threads }: Lease): Promise<unknown[] | undefined> {
  const shares: Counted[] = [];
  for (const share of await Promise.all(
    threads.map((thread) => thread.run('count', many.counting)),
  )) {
    if (share === 'no memory') return undefined;
    shares.push(share);
  }
  const counts = (shares[0]?.counts ?? []).map((_, at) =>
    summed(shares.map((share) => share.counts[at] ?? new Float64Array(0))),
  );
  const values = await Promise.all(
    many.rankings({ counts }).map(({ list, ranks, max }, at) => {
      const lists = shares.flatMap((share) => share.lists[list] ?? []);
      const thread = threads[at % threads.length];
      if (!thread) throw new Error('a report has no thread');
      return thread.run('rank', { lists, ranks, max });
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

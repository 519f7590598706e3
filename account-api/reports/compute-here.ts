import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import type { KillQuery } from '../../platform/clickhouse/kill-on-abort.ts';
import type { CompiledQuery } from '../../platform/clickhouse/sql.ts';
import type { LargeReports } from './few-events/large-reports.ts';
import { readEvents } from './few-events/read-events.ts';
import { readMany } from './many-events/read-many.ts';
import type { ReportThreads } from './many-events/report-threads.ts';
import type { ReadStatement } from './report-statement.ts';

/** What a process computes reports with, besides ClickHouse. */
export interface ReportProcess {
  /** The accounts for which few events need not be looked for. */
  large?: LargeReports;
  counting?: EventCounting;
}

/** How a process counts many events. */
export interface EventCounting {
  threads: Pick<ReportThreads, 'lease'>;
  /** The accounts whose events have no room in the memory of the threads. */
  tooLarge: LargeReports;
  /** Limits of a query. */
  limits: () => Promise<ClickHouseSettings>;
  kill: KillQuery;
  /** Events could not be read or counted; the statement runs instead. */
  onFailure: (error: unknown) => void;
}

interface ComputedHere {
  /** Undefined: a statement has to be run. */
  rows?: unknown[] | undefined;
  rowsRead: number;
  /** The statement to run instead of that of the report. */
  compiled?: CompiledQuery;
}

/** The rows of a report that this process computes from its events. */
export async function computeHere(
  client: ClickHouseClient,
  statement: ReadStatement,
  { large, counting }: ReportProcess,
): Promise<ComputedHere> {
  const few = await searchFew(client, statement, large);
  if (few.rows || few.compiled || !counting) return few;
  const many = await countMany(statement, counting);
  return { rows: many.rows, rowsRead: few.rowsRead + many.rowsRead };
}

async function searchFew(
  client: ClickHouseClient,
  { few, accountId, merges = 'none', signal }: ReadStatement,
  large: LargeReports | undefined,
): Promise<ComputedHere> {
  const isLarge = few && accountId !== undefined && large?.has(accountId, few.rangeMs);
  if (!few || isLarge) return { rowsRead: 0 };
  const { columns, rowsRead } = await readEvents(client, {
    compiled: few.compile(merges),
    ...{ limit: few.limit, signal },
  });
  const next = columns && few.next(columns);
  if (Array.isArray(next)) return { rows: next, rowsRead };
  if (next !== undefined) return { rowsRead, compiled: next };
  if (accountId !== undefined) large?.add(accountId, few.rangeMs);
  return { rowsRead };
}

async function countMany(
  { many, accountId, merges = 'none', signal }: ReadStatement,
  { threads, tooLarge, limits, kill, onFailure }: EventCounting,
): Promise<ComputedHere> {
  if (!many || accountId === undefined || tooLarge.has(accountId, many.rangeMs))
    return { rowsRead: 0 };
  const settings = await limits();
  try {
    const lease = threads.lease();
    if (!lease) return { rowsRead: 0 };
    const read = await readMany({ accountId, many, merges, settings, kill, signal }, lease);
    if (!read.rows) tooLarge.add(accountId, many.rangeMs);
    return read;
  } catch (error) {
    signal.throwIfAborted();
    // its statement answers, or says why it cannot
    onFailure(error);
    return { rowsRead: 0 };
  }
}

import type { ClickHouseClient } from '@clickhouse/client';
import { mergesOf, type Merges } from '../../audiences/people-sql.ts';
import { CLICKHOUSE_QUERY } from '../../platform/clickhouse/rows.ts';
import { exceedsMemory } from '../../platform/clickhouse/query-limits.ts';
import { inStep } from '../../platform/tracing/request-span.ts';
import type { ReportRows } from './cache/cached-rows.ts';
import {
  funnelReads,
  pathsReads,
  retentionReads,
  trendsReads,
  type ReportReads,
} from './cache/reads.ts';
import { computeHere, type ReportProcess } from './compute-here.ts';
import type { ReadStatement, ReportStatement } from './report-statement.ts';
import { funnelOfMany } from './funnel/many/funnel-of-many.ts';
import { retentionOfMany } from './retention/many/retention-of-many.ts';
import { planningOf, type Planning } from './planning.ts';
import { answerFunnel, type FunnelAnswer, type FunnelRow } from './funnel/answer.ts';
import { compileFunnel } from './funnel/compile.ts';
import { funnelOfFew } from './funnel/few/funnel-of-few.ts';
import { answerPaths, type PathsAnswer, type PathsRow } from './paths/answer.ts';
import { compilePaths } from './paths/compile.ts';
import type { PathsRequest } from './paths/request.ts';
import { compilePeople, type PersonRow } from './people/compile.ts';
import { peopleOfFew } from './people/people-of-few.ts';
import type { PeopleRequest } from './people/request.ts';
import type { FunnelRequest } from './funnel/request.ts';
import { reportMeta, type Measured, type ReportMeta } from './meta.ts';
import { answerRetention, type RetentionAnswer, type RetentionRow } from './retention/answer.ts';
import { compileRetention } from './retention/compile.ts';
import type { RetentionRequest } from './retention/request.ts';
import { answerTrends, type TrendsAnswer, type TrendsRow } from './trends/answer.ts';
import { compileTrends } from './trends/compile.ts';
import type { TrendsRequest } from './trends/request.ts';

/**
 * Time of a report (management 8.4), seconds. ClickHouse stops the query shortly before the client
 * is cancelled.
 */
const MAX_SECONDS = 45;

export interface ReportQuery<Request> {
  accountId: number;
  request: Request;
  /**
   * Epoch milliseconds: all events ingested before this time are stored. Read before the query
   * starts.
   */
  freshUntil: number;
  /** Absent: not known yet. */
  merges?: Merges | undefined;
  /** A condition or the breakdown reads a trait; assumed where it is absent. */
  readsTraits?: boolean;
  signal?: AbortSignal;
}

/** Runs the statement of a report, or knows its rows. */
export type RowsOf = (statement: ReportStatement) => Promise<ReportRows>;

/**
 * Each report is one query. Rejects with the client's error: unreachable, timeout, memory, abort.
 */
export interface RunReports {
  funnel(query: ReportQuery<FunnelRequest>): Promise<FunnelAnswer>;
  retention(query: ReportQuery<RetentionRequest>): Promise<RetentionAnswer>;
  trends(query: ReportQuery<TrendsRequest>): Promise<TrendsAnswer>;
  paths(query: ReportQuery<PathsRequest>): Promise<PathsAnswer>;
  /** The people behind a number of a report. */
  people(query: ReportQuery<PeopleRequest>): Promise<{ people: PersonRow[]; meta: ReportMeta }>;
}

/** Reports whose statements run in ClickHouse each time. */
export function clickhouseReports(client: ClickHouseClient): RunReports {
  const readMerges = mergesOf(client);
  return reportsOver(async (statement) => {
    const { accountId, signal } = statement;
    const merges = statement.merges ?? (await readMerges(accountId, signal));
    return readReport(client, {
      ...statement,
      merges,
      compiled: statement.compile(merges),
      signal,
    });
  });
}

export function reportsOver(rowsOf: RowsOf): RunReports {
  const read = async (
    { accountId, merges, freshUntil, readsTraits, signal }: ReportQuery<unknown>,
    {
      compile,
      reads,
      few,
      many,
    }: Pick<ReportStatement, 'compile' | 'few' | 'many'> & {
      reads: Omit<ReportReads, 'profiles'> | undefined;
    },
  ): Promise<{ rows: unknown[]; measured: Measured }> => {
    const startedAt = performance.now();
    const { rows, rowsRead } = await rowsOf({
      ...{ accountId, merges, compile, few, many, compiled: compile(merges ?? 'none') },
      reads: reads && { ...reads, profiles: readsTraits ?? true },
      signal: signal ?? new AbortController().signal,
    });
    const elapsedMs = performance.now() - startedAt;
    return { rows, measured: { freshUntil, rowsRead, elapsedMs } };
  };
  return {
    async funnel(query) {
      const { request, accountId } = query;
      const { rows, measured } = await read(query, {
        compile: (merges) => compileFunnel({ request, accountId, merges }),
        reads: funnelReads(request),
        few: funnelOfFew(request, accountId),
        many: funnelOfMany(request, accountId),
      });
      return answerFunnel({ request, rows: rows as FunnelRow[], measured });
    },
    async retention(query) {
      const { request, accountId } = query;
      const { rows, measured } = await read(query, {
        compile: (merges) => compileRetention({ request, accountId, merges }),
        reads: retentionReads(request),
        many: retentionOfMany(request, accountId),
      });
      return answerRetention({ request, rows: rows as RetentionRow[], measured });
    },
    async trends(query) {
      const { request, accountId } = query;
      const { rows, measured } = await read(query, {
        compile: (merges) => compileTrends({ request, accountId, merges }),
        reads: trendsReads(request),
      });
      return answerTrends({ request, rows: rows as TrendsRow[], measured });
    },
    async paths(query) {
      const { request, accountId } = query;
      const { rows, measured } = await read(query, {
        compile: (merges) => compilePaths({ request, accountId, merges }),
        reads: pathsReads(request),
      });
      return answerPaths({ request, rows: rows as PathsRow[], measured });
    },
    async people(query) {
      const { request: asked, accountId } = query;
      const { rows, measured } = await read(query, {
        compile: (merges) => compilePeople({ asked, accountId, merges }),
        // names of people stay in no memory
        reads: undefined,
        few: peopleOfFew(asked, accountId),
      });
      return { people: rows as PersonRow[], meta: reportMeta(measured, false) };
    },
  };
}

/**
 * The rows of a report: computed here where it has few events, or where threads can count many, and
 * by its statement otherwise.
 */
export async function readReport(
  client: ClickHouseClient,
  statement: ReadStatement,
  here: ReportProcess = {},
): Promise<ReportRows> {
  const { rows, rowsRead, compiled } = await computeHere(client, statement, here);
  if (rows) return { rows, rowsRead };
  const { signal } = statement;
  const read = await readStatement(client, { compiled: compiled ?? statement.compiled, signal });
  return { ...read, rowsRead: rowsRead + read.rowsRead };
}

/**
 * Shares of people (planning.ts) do not spill to disk: a report that exceeds its memory with them
 * runs again without.
 */
async function readStatement(
  client: ClickHouseClient,
  statement: Pick<ReportStatement, 'compiled' | 'signal'>,
): Promise<ReportRows> {
  const planning = planningOf(statement.compiled.sql);
  try {
    return await readPlanned(client, { ...statement, planning });
  } catch (error) {
    if (!exceedsMemory(error) || planning.enable_sharding_aggregator !== 1) throw error;
    return readPlanned(client, {
      ...statement,
      planning: { ...planning, enable_sharding_aggregator: 0 },
    });
  }
}

async function readPlanned(
  client: ClickHouseClient,
  {
    compiled: { sql, params },
    planning,
    signal,
  }: Pick<ReportStatement, 'compiled' | 'signal'> & { planning: Planning },
): Promise<ReportRows> {
  const { data, statistics } = await inStep(CLICKHOUSE_QUERY, async () => {
    const result = await client.query({
      query: sql,
      query_params: params,
      format: 'JSON',
      use_multipart_params_auto: true,
      clickhouse_settings: {
        ...planning,
        output_format_json_quote_64bit_integers: 0,
        cancel_http_readonly_queries_on_client_close: 1,
        max_execution_time: MAX_SECONDS,
      },
      abort_signal: signal,
    });
    return await result.json();
  });
  return { rows: data, rowsRead: statistics?.rows_read ?? 0 };
}

import type { ClickHouseClient } from '@clickhouse/client';
import { answerFunnel, type FunnelAnswer, type FunnelRow } from './funnel/answer.ts';
import { compileFunnel } from './funnel/compile.ts';
import type { FunnelRequest } from './funnel/request.ts';
import type { Measured } from './meta.ts';
import type { Merges } from '../warehouse/people-sql.ts';
import { answerRetention, type RetentionAnswer, type RetentionRow } from './retention/answer.ts';
import { compileRetention } from './retention/compile.ts';
import type { RetentionRequest } from './retention/request.ts';
import type { CompiledReport } from '../warehouse/sql-params.ts';

/**
 * The handler's own bound (management 8.4); ClickHouse stops the query a little earlier than the
 * client gives up.
 */
const MAX_SECONDS = 45;
/** Group states beyond this go to disk, so that a report over everybody ends instead of failing. */
const SPILL_BYTES = 2_000_000_000;
const MEMORY_BYTES = 6_000_000_000;

export interface ReportQuery<Request> {
  client: ClickHouseClient;
  accountId: number;
  request: Request;
  /** Epoch milliseconds: all that was appended to the log before it is stored. */
  freshUntil: number;
  /** 'table' where the account has joined names. */
  merges?: Merges;
  signal?: AbortSignal;
}

/**
 * POST /v1/reports/funnel: one query. Throws what the client throws (unreachable, out of time or
 * memory, cancelled).
 */
export async function runFunnel(run: ReportQuery<FunnelRequest>): Promise<FunnelAnswer> {
  const { request, accountId, merges = 'none' } = run;
  const { rows, measured } = await readRows(run, compileFunnel({ request, accountId, merges }));
  return answerFunnel({ request, rows: rows as FunnelRow[], measured });
}

async function readRows(
  { client, freshUntil, signal }: Omit<ReportQuery<unknown>, 'request'>,
  { sql, params }: CompiledReport,
): Promise<{ rows: unknown[]; measured: Measured }> {
  const startedAt = performance.now();
  const result = await client.query({
    query: sql,
    query_params: params,
    format: 'JSON',
    use_multipart_params_auto: true,
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 0,
      // an answer that nobody waits for is not computed to its end
      cancel_http_readonly_queries_on_client_close: 1,
      max_execution_time: MAX_SECONDS,
      max_memory_usage: String(MEMORY_BYTES),
      max_bytes_before_external_group_by: String(SPILL_BYTES),
    },
    ...(signal ? { abort_signal: signal } : {}),
  });
  const { data, statistics } = await result.json();
  return {
    rows: data,
    measured: {
      freshUntil,
      rowsRead: statistics?.rows_read ?? 0,
      elapsedMs: performance.now() - startedAt,
    },
  };
}

/** POST /v1/reports/retention: one query; as runFunnel. */
export async function runRetention(run: ReportQuery<RetentionRequest>): Promise<RetentionAnswer> {
  const { request, accountId, merges = 'none' } = run;
  const { rows, measured } = await readRows(run, compileRetention({ request, accountId, merges }));
  return answerRetention({ request, rows: rows as RetentionRow[], measured });
}

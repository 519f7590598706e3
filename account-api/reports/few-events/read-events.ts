import type { ClickHouseClient } from '@clickhouse/client';
import { CLICKHOUSE_QUERY } from '../../../platform/clickhouse/rows.ts';
import { exceedsMemory } from '../../../platform/clickhouse/query-limits.ts';
import type { CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import { inStep } from '../../../platform/tracing/request-span.ts';
import { planningOf } from '../planning.ts';

/** Bytes of the events' columns: the values of a breakdown have up to 8 KiB each. */
const MAX_BYTES = 2 ** 22;
/** Rows that ClickHouse may read to find them: it knows from the index, before it reads any. */
const MAX_ROWS_READ = 1_000_000;
const MAX_SECONDS = 5;
/** TOO_MANY_ROWS, TIMEOUT_EXCEEDED, TOO_MANY_BYTES, TOO_MANY_ROWS_OR_BYTES */
const TOO_MANY = new Set(['158', '159', '307', '396']);

/** Columns of a statement by name, all of the same length. */
export type Columns = Record<string, unknown[]>;

/** `columns` is undefined where there are too many events. */
export interface ReadEvents {
  columns: Columns | undefined;
  rowsRead: number;
}

/** The events of a report, of which the statement answers at most one more than the limit. */
export async function readEvents(
  client: ClickHouseClient,
  {
    compiled: { sql, params },
    limit,
    signal,
  }: { compiled: CompiledQuery; limit: number; signal: AbortSignal },
): Promise<ReadEvents> {
  try {
    const {
      data,
      meta = [],
      statistics,
    } = await inStep(CLICKHOUSE_QUERY, async () => {
      const result = await client.query({
        query: sql,
        query_params: params,
        format: 'JSONColumnsWithMetadata',
        use_multipart_params_auto: true,
        clickhouse_settings: {
          ...planningOf(sql),
          output_format_json_quote_64bit_integers: 0,
          cancel_http_readonly_queries_on_client_close: 1,
          max_execution_time: MAX_SECONDS,
          max_rows_to_read: String(MAX_ROWS_READ),
          max_result_bytes: String(MAX_BYTES),
        },
        abort_signal: signal,
      });
      return await result.json();
    });
    const found = data as unknown as Columns;
    // without rows ClickHouse may answer no columns
    const columns = Object.fromEntries(meta.map(({ name }) => [name, found[name] ?? []]));
    const rows = Math.max(...Object.values(columns).map((column) => column.length));
    return {
      columns: rows > limit ? undefined : columns,
      rowsRead: statistics?.rows_read ?? 0,
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!isTooMuch(error)) throw error;
    return { columns: undefined, rowsRead: 0 };
  }
}

function isTooMuch(error: unknown): boolean {
  if (exceedsMemory(error)) return true;
  return error instanceof Error && 'code' in error && TOO_MANY.has(String(error.code));
}

import type { ClickHouseClient } from '@clickhouse/client';
import { inStep } from '../tracing/request-span.ts';
import type { ParamValue } from './sql.ts';

export interface RowQuery {
  client: Pick<ClickHouseClient, 'query'>;
  sql: string;
  params: Record<string, ParamValue>;
  signal: AbortSignal;
}

const MAX_SECONDS = 30;

/**
 * All rows of one bounded query. Rejects with the client's error. Parameters go in the body: they
 * can be longer than a URL.
 */
export function readRows<Row>(query: RowQuery): Promise<Row[]> {
  return inStep(CLICKHOUSE_QUERY, () => rowsOf<Row>(query));
}

/** The span of a query; its text may name people. */
export const CLICKHOUSE_QUERY = {
  name: 'SELECT',
  kind: 'client',
  attributes: { 'db.system.name': 'clickhouse' },
} as const;

async function rowsOf<Row>({ client, sql, params, signal }: RowQuery): Promise<Row[]> {
  const result = await client.query({
    query: sql,
    query_params: params,
    format: 'JSONEachRow',
    use_multipart_params_auto: true,
    abort_signal: signal,
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 0,
      max_execution_time: MAX_SECONDS,
    },
  });
  return await result.json<Row>();
}

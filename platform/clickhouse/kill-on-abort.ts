import type { ClickHouseClient, DataFormat, QueryParams } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import type { Log } from '../log.ts';
import { eachHost } from './each-host.ts';

/** Ends a query inside ClickHouse; never rejects. */
export type KillQuery = (queryId: string) => void;

/**
 * Kills on every host of the client: any of them may run the query.
 * @param killer sends nothing else: KILL QUERY never waits for a socket behind a query
 */
export function killQuery(killer: ClickHouseClient, log: Log): KillQuery {
  return (queryId) => {
    for (const host of eachHost(killer))
      host
        .command({
          query: 'KILL QUERY WHERE query_id = {id:String} ASYNC',
          query_params: { id: queryId },
        })
        .catch((error: unknown) =>
          log.warn(
            { err: error, code: 'kill_failed', query_id: queryId },
            'KILL QUERY failed; the aborted query may run until max_execution_time',
          ),
        );
  };
}

/**
 * The same client, but an aborted query is also killed inside ClickHouse, which otherwise completes
 * it without a reader: KILL QUERY is sent when its `abort_signal` fires (the client disconnected,
 * the handler timed out) and when the connection fails.
 */
export function killOnAbort(client: ClickHouseClient, kill: KillQuery): ClickHouseClient {
  const query = async <Format extends DataFormat>(params: QueryParams & { format?: Format }) => {
    const queryId = params.query_id ?? randomUUID();
    const abort = () => kill(queryId);
    params.abort_signal?.throwIfAborted();
    params.abort_signal?.addEventListener('abort', abort, { once: true });
    try {
      return await client.query<Format>({ ...params, query_id: queryId });
    } catch (error) {
      // the signal has already killed an aborted query
      if (params.abort_signal?.aborted !== true && !isAnswer(error)) kill(queryId);
      throw error;
    } finally {
      params.abort_signal?.removeEventListener('abort', abort);
    }
  };
  return Object.assign(Object.create(client) as ClickHouseClient, { query });
}

/** Whether ClickHouse itself answered with an error: then the query has ended. */
function isAnswer(error: unknown): boolean {
  return (
    error instanceof Error && 'type' in error && 'code' in error && /^\d+$/.test(String(error.code))
  );
}

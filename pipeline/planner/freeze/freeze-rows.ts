import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import { dayOf } from '../../../audiences/conditions/time-zone.ts';
import { QUORUM_INSERT } from '../../../platform/clickhouse/replicas.ts';
import type { KillQuery } from '../../../platform/clickhouse/kill-on-abort.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { SqlParams } from '../../../platform/clickhouse/sql.ts';
import { compileFreeze, type FreezeQuery } from './compile.ts';
import { frozenTable } from './frozen-table.ts';
import { AudienceTooLarge, type FreezePorts } from './freeze.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

/** A share of ClickHouse's threads; reports come first, but a run waits for them not for long. */
const SHARE = { max_threads: 2, priority: '10', low_priority_query_wait_time_ms: '100' } as const;

const FREEZE_SETTINGS: ClickHouseSettings = {
  ...SHARE,
  // An error after the first rows is an answer, too.
  wait_end_of_query: 1,
  async_insert: 0,
  max_insert_threads: '1',
  // Rows come as they are read: no block holds the whole audience.
  min_insert_block_size_rows: '262144',
  min_insert_block_size_bytes: '67108864',
};

/** The view `people` reads identities_flat several times: as it is at one moment. */
const ONE_SNAPSHOT = { enable_shared_storage_snapshot_in_query: 1 } as ClickHouseSettings;

/** Of time, rows, bytes, the size of a set, memory. */
const LIMIT_CODES = new Set(['159', '158', '307', '191', '241']);

export interface FreezeClient {
  client: ClickHouseClient;
  /** CLICKHOUSE_CLUSTER; empty: one server. */
  cluster: string;
  /** Of memory. */
  limits: () => Promise<ClickHouseSettings>;
  kill: KillQuery;
  /** Longest query, ms. */
  timeLimit: number;
}

/** Freezes audiences in ClickHouse. */
export function rowsFreezer(options: FreezeClient): FreezePorts['freezeRows'] {
  const { cluster, limits, kill, timeLimit } = options;
  return async (query, signal) => {
    const { accountId } = query;
    const client = onAccount(options.client, accountId);
    // Before the rows: a person who is merged later is resolved when the message is sent.
    const identitiesRevision = await revisionOf(client, { accountId, signal });
    const { sql, params } = statementOf(query, cluster);
    const queryId = randomUUID();
    try {
      const { summary } = await client.command({
        query: sql,
        query_params: params.values(),
        query_id: queryId,
        use_multipart_params_auto: true,
        abort_signal: signal,
        clickhouse_settings: {
          ...FREEZE_SETTINGS,
          ...ONE_SNAPSHOT,
          ...(cluster === '' ? {} : QUORUM_INSERT),
          max_execution_time: Math.ceil(timeLimit / 1000),
          ...(await limits()),
        },
      });
      return { people: countOf(summary?.written_rows), identitiesRevision };
    } catch (error) {
      // Without an answer it may still be running.
      kill(queryId);
      if (LIMIT_CODES.has(codeOf(error)))
        throw new AudienceTooLarge('the query of an audience ended at a limit', { cause: error });
      throw error;
    }
  };
}

/** In a cluster all rows go to the replica that is asked, and it counts them. */
function statementOf(query: FreezeQuery, cluster: string): { sql: string; params: SqlParams } {
  const params = new SqlParams();
  const { accountId, at } = query;
  const into = frozenTable(cluster);
  const today = dayOf(at, 'Asia/Tehran');
  const context = { accountId, now: at, today, merges: 'table', params } as const;
  const sql = compileFreeze({ ...query, into }, context);
  return { sql, params };
}

/** The revision of the account's identities that ClickHouse has; 0: no alias was ever received. */
async function revisionOf(
  client: ClickHouseClient,
  { accountId, signal }: { accountId: number; signal: AbortSignal },
): Promise<number> {
  const [row] = await readRows<{ revision: number }>({
    client,
    sql: 'SELECT max(version) AS revision FROM identities_flat WHERE account_id = {account:UInt64}',
    params: { account: accountId },
    signal,
  });
  return row?.revision ?? 0;
}

function countOf(rows: string | undefined): number {
  const count = Number(rows);
  if (!Number.isSafeInteger(count))
    throw new Error('ClickHouse did not say how many rows it wrote');
  return count;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

import { randomUUID } from 'node:crypto';
import { dayOf } from '../../audiences/conditions/time-zone.ts';
import type { JobQuery } from '../../account-api/queries.ts';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { compileMembers } from './compile.ts';
import type { ReadMembers } from './compute.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

/** A share of ClickHouse's threads; reports come first, but members wait for them not for long. */
const SETTINGS = {
  max_threads: 2,
  priority: '10',
  low_priority_query_wait_time_ms: '100',
} as const;
const MAX_SECONDS = 60;

/** Reads the members of audiences from ClickHouse. */
export function membersReader({ client, limits, kill, mergesOf }: JobQuery): ReadMembers {
  return async ({ accountId, audience, limit, now, signal }) => {
    const params = new SqlParams();
    const merges = await mergesOf(accountId, signal);
    const today = dayOf(now, 'Asia/Tehran');
    const query = compileMembers({ audience, limit }, { accountId, now, today, merges, params });
    const queryId = randomUUID();
    try {
      const { stream } = await onAccount(client, accountId).exec({
        ...{ query, query_id: queryId, abort_signal: signal },
        query_params: params.values(),
        use_multipart_params_auto: true,
        clickhouse_settings: {
          ...{ max_execution_time: MAX_SECONDS, ...SETTINGS },
          // A failure is an answer of its own, not the end of half an answer.
          wait_end_of_query: 1,
          ...(await limits()),
        },
      });
      return stream;
    } catch (error) {
      kill(queryId);
      throw error;
    }
  };
}

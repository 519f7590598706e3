import { quotaMonth } from '../../events/tehran-time.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { STORE_DEADLINE } from './account-store.ts';
import { BatchedLookup } from '../../platform/batched-lookup.ts';

const READ =
  "SELECT account_id, value FROM meters WHERE meter = 'events' AND month = $1 AND account_id = ANY($2::bigint[])";

/** Accepted events of the Jalali month (ingest 8), from the meters. Rejects when unreadable. */
export function monthMeter(
  database: Pick<Database, 'query'>,
  now: () => number,
): (accountId: number) => Promise<number> {
  const lookup = new BatchedLookup<number, number>(async (accountIds) => {
    const query = database.query<{ account_id: string; value: string }>(READ, [
      quotaMonth(now()).key,
      accountIds,
    ]);
    const { rows } = await withDeadline(STORE_DEADLINE, query);
    return new Map(rows.map((row) => [Number(row.account_id), Number(row.value)]));
  });
  return async (accountId) => (await lookup.find(accountId)) ?? 0;
}

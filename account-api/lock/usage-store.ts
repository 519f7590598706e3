import { quotaMonth } from '../../events/tehran-time.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { ReadUsage } from './billing-store.ts';

const READ = 'SELECT meter, value FROM meters WHERE account_id = $1 AND month = $2';

/**
 * The usage of an account in the current Jalali month, from the meters. A meter without a row is
 * zero. Rejects when the meters cannot be read.
 */
export function usageStore(database: Database, now: () => number): ReadUsage {
  return async (accountId) => {
    const { rows } = await database.query<{ meter: string; value: string }>(READ, [
      accountId,
      quotaMonth(now()).key,
    ]);
    const value = (meter: string) => Number(rows.find((row) => row.meter === meter)?.value ?? 0);
    return { events: value('events'), profiles: value('profiles') };
  };
}

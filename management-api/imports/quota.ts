import type { Database } from '../../platform/postgres/pool.ts';
import type { Log } from '../../platform/log.ts';
import { BoundedCache } from '../bounded-cache.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import type { ReadUsage } from '../lock/billing-store.ts';

const VERDICT_MS = 15_000;
const MAX_ACCOUNTS = 10_000;

export interface Plan {
  subscription: string;
  /** Hard ceiling of events in a Jalali month; 0: none. */
  maxEvents: number;
}

/** Why an account may not send events (management 7.5); undefined when it may. `events`: of this Jalali month, undefined when the meters cannot be read. */
export function quotaRefusal(plan: Plan, events: number | undefined): ErrorCode | undefined {
  if (plan.subscription === 'cancelled') return 'quota_cancelled';
  if (plan.subscription === 'trial_ended') return 'quota_trial_over';
  return plan.maxEvents > 0 && events !== undefined && events >= plan.maxEvents ? 'quota_event_cap' : undefined;
}

export type CheckQuota = (accountId: number, now: number) => Promise<ErrorCode | undefined>;

/** Verdicts stand for 15 s per account; what cannot be read lets the events in (ingest 8). */
export function quotaGate({ database, readUsage, log }: { database: Database; readUsage: ReadUsage; log: Log }): CheckQuota {
  const verdicts = new BoundedCache<number, ErrorCode | undefined>({ ttl: VERDICT_MS, max: MAX_ACCOUNTS });
  return async (accountId, now) => {
    const kept = verdicts.get(accountId, now);
    if (kept) return kept.value;
    try {
      const { rows } = await database.query<{ subscription: string; max_events: string }>(
        'SELECT subscription, max_events FROM accounts WHERE id = $1',
        [accountId],
      );
      const row = rows[0];
      if (!row) return undefined;
      const plan = { subscription: row.subscription, maxEvents: Number(row.max_events) };
      const events = plan.maxEvents > 0 ? (await readUsage(accountId)).events : undefined;
      const verdict = quotaRefusal(plan, events);
      verdicts.set(accountId, verdict, now);
      return verdict;
    } catch (error) {
      log.warn({ err: error, code: 'quota_unreadable', account_id: accountId }, 'the quota cannot be read; events are let in');
      return undefined;
    }
  };
}

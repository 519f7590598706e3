import { decideQuota, type QuotaRefusal, type Subscription } from '../../events/quota.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Log } from '../../platform/log.ts';
import type { ReadUsage } from '../../account-api/lock/billing-store.ts';

const VERDICT_MS = 15_000;
const READ = { ms: 2000, waitingFor: 'the plan and the meters of an account' };
const MAX_ACCOUNTS = 10_000;

/** Why an account may not send events (management 7.5); undefined when it may. */
export type CheckQuota = (accountId: number, now: number) => Promise<QuotaRefusal | undefined>;

interface QuotaGateOptions {
  database: Pick<Database, 'query'>;
  readUsage: ReadUsage;
  log: Log;
}

/**
 * Caches verdicts for 15 s per account; accepts events when the quota cannot be read (ingest 8).
 */
export function quotaGate({ database, readUsage, log }: QuotaGateOptions): CheckQuota {
  const verdicts = new BoundedMap<number, { verdict: QuotaRefusal | undefined; until: number }>(
    MAX_ACCOUNTS,
  );

  const decide = async (accountId: number): Promise<QuotaRefusal | undefined> => {
    const { rows } = await database.query<{ subscription: Subscription; max_events: string }>(
      'SELECT subscription, max_events FROM accounts WHERE id = $1',
      [accountId],
    );
    const row = rows[0];
    if (!row) return undefined;
    const maxEvents = Number(row.max_events);
    const eventsThisMonth =
      maxEvents > 0
        ? await readUsage(accountId).then(
            ({ events }) => events,
            () => undefined,
          )
        : undefined;
    const verdict = decideQuota({ subscription: row.subscription, maxEvents, eventsThisMonth });
    return verdict === 'open' ? undefined : verdict;
  };

  return async (accountId, now) => {
    const kept = verdicts.get(accountId);
    if (kept && now < kept.until) return kept.verdict;
    try {
      const verdict = await withDeadline(READ, decide(accountId));
      verdicts.set(accountId, { verdict, until: now + VERDICT_MS });
      return verdict;
    } catch (error) {
      log.warn(
        { err: error, code: 'quota_unreadable', account_id: accountId },
        'the quota cannot be read; events are accepted without it',
      );
      return undefined;
    }
  };
}

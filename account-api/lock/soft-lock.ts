import type { Log } from '../../platform/log.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { lockReason, type Billing, type LockReason } from './decide.ts';

const VERDICT_MS = 60_000;
const READ_MS = 2000;
const MAX_ACCOUNTS = 10_000;

export type ReadBilling = (accountId: number) => Promise<Billing>;

/** Why an account is locked; undefined when open or unreadable: fails open (management 3.1). */
export type CheckLock = (accountId: number, now: number) => Promise<LockReason | undefined>;

/** Caches the result for a minute per account. A failed read is not cached. */
export function softLock({ readBilling, log }: { readBilling: ReadBilling; log: Log }): CheckLock {
  const verdicts = new BoundedMap<number, { verdict: LockReason | undefined; until: number }>(
    MAX_ACCOUNTS,
  );
  return async (accountId, now) => {
    const kept = verdicts.get(accountId);
    if (kept && now < kept.until) return kept.verdict;
    try {
      const billing = await withDeadline(
        { ms: READ_MS, waitingFor: 'the billing state of an account' },
        readBilling(accountId),
      );
      const verdict = lockReason(billing, now);
      verdicts.set(accountId, { verdict, until: now + VERDICT_MS });
      return verdict;
    } catch (error) {
      log.warn(
        { err: error, code: 'lock_unreadable', account_id: accountId },
        'the soft lock cannot be read; the account stays open',
      );
      return undefined;
    }
  };
}

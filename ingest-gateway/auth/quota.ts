import type { Subscription } from './account-store.ts';

/** Whether an account may send events (ingest 8); every verdict but `open` refuses the whole request with 402. */
export type QuotaVerdict = 'open' | 'quota_cancelled' | 'quota_trial_over' | 'quota_event_cap';

export interface QuotaFacts {
  subscription: Subscription;
  /** 0 means no ceiling. */
  maxEvents: number;
  /** Events accepted in this Jalali month; undefined when they could not be counted, which leaves the account open. */
  eventsThisMonth: number | undefined;
}

const BY_SUBSCRIPTION: Record<Subscription, QuotaVerdict> = {
  active: 'open',
  trial: 'open',
  trial_ended: 'quota_trial_over',
  cancelled: 'quota_cancelled',
};

/** The verdict over an account. The ceiling is the last number of events that is taken. */
export function decideQuota({ subscription, maxEvents, eventsThisMonth }: QuotaFacts): QuotaVerdict {
  const verdict = BY_SUBSCRIPTION[subscription];
  if (verdict !== 'open' || maxEvents === 0 || eventsThisMonth === undefined) return verdict;
  return eventsThisMonth >= maxEvents ? 'quota_event_cap' : 'open';
}

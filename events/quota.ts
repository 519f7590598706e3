/** Where the plan of an account stands (ingest 8). */
export type Subscription = 'active' | 'trial' | 'trial_ended' | 'cancelled';

export type QuotaRefusal = 'quota_cancelled' | 'quota_trial_over' | 'quota_event_cap';

/**
 * Whether an account may send events; every verdict but `open` refuses the whole request with 402
 * (ingest 8, management 7.5).
 */
export type QuotaVerdict = 'open' | QuotaRefusal;

/** The sentences of a 402, the same on both hosts: Persian always, and without numbers of usage. */
export const QUOTA_SENTENCES: Readonly<Record<QuotaRefusal, string>> = {
  quota_cancelled: 'اشتراک این حساب لغو شده است.',
  quota_trial_over: 'دورهٔ آزمایشی این حساب به پایان رسیده است.',
  quota_event_cap: 'سقف رویدادهای این ماه پر شده است.',
};

export interface QuotaFacts {
  subscription: Subscription;
  /** Ceiling of events in a Jalali month; 0 means none. */
  maxEvents: number;
  /**
   * Events accepted in this Jalali month; undefined when they could not be counted, which leaves
   * the account open.
   */
  eventsThisMonth: number | undefined;
}

const BY_SUBSCRIPTION: Record<Subscription, QuotaVerdict> = {
  active: 'open',
  trial: 'open',
  trial_ended: 'quota_trial_over',
  cancelled: 'quota_cancelled',
};

/** The verdict over an account. The ceiling is the last number of events that is taken. */
export function decideQuota({
  subscription,
  maxEvents,
  eventsThisMonth,
}: QuotaFacts): QuotaVerdict {
  const verdict = BY_SUBSCRIPTION[subscription];
  if (verdict !== 'open' || maxEvents === 0 || eventsThisMonth === undefined) return verdict;
  return eventsThisMonth >= maxEvents ? 'quota_event_cap' : 'open';
}

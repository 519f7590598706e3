/** State of an account's plan (ingest 8). */
export type Subscription = 'active' | 'trial' | 'trial_ended' | 'cancelled';

export type QuotaRefusal = 'quota_cancelled' | 'quota_trial_over' | 'quota_event_cap';

/** Any verdict but `open` refuses the request with 402 (ingest 8, management 7.5). */
export type QuotaVerdict = 'open' | QuotaRefusal;

/** The sentences of a 402, the same on both hosts: in Persian, without usage numbers. */
export const QUOTA_SENTENCES: Readonly<Record<QuotaRefusal, string>> = {
  quota_cancelled: 'اشتراک این حساب لغو شده است.',
  quota_trial_over: 'دورهٔ آزمایشی این حساب به پایان رسیده است.',
  quota_event_cap: 'سقف رویدادهای این ماه پر شده است.',
};

export interface QuotaFacts {
  subscription: Subscription;
  /** Maximum number of events per Jalali month; 0: unlimited. */
  maxEvents: number;
  /** Events accepted this Jalali month; undefined when unreadable: the account stays open. */
  eventsThisMonth: number | undefined;
}

const BY_SUBSCRIPTION: Record<Subscription, QuotaVerdict> = {
  active: 'open',
  trial: 'open',
  trial_ended: 'quota_trial_over',
  cancelled: 'quota_cancelled',
};

/** Decides the quota of an account. Event number `maxEvents` is still accepted. */
export function decideQuota({
  subscription,
  maxEvents,
  eventsThisMonth,
}: QuotaFacts): QuotaVerdict {
  const verdict = BY_SUBSCRIPTION[subscription];
  if (verdict !== 'open' || maxEvents === 0 || eventsThisMonth === undefined) return verdict;
  return eventsThisMonth >= maxEvents ? 'quota_event_cap' : 'open';
}

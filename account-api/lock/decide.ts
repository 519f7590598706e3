import type { DomainError } from '../errors/domain-error.ts';

const OVERDUE_MS = 75 * 86_400_000;
const USAGE_FACTOR = 3;

export type LockReason = 'overdue_75' | 'usage_300';

/**
 * What the soft lock reads of an account's billing (management 3.1). An allowance of 0 means
 * unlimited.
 */
export interface Billing {
  /** ms since the epoch; undefined when no issued invoice is open */
  invoiceDueAt: number | undefined;
  /** A declared payment awaits confirmation by the bank: the overdue trigger is disarmed. */
  paymentDeclared: boolean;
  includedEvents: number;
  includedProfiles: number;
  /** Usage of this period; undefined while the meters cannot be read. */
  events: number | undefined;
  profiles: number | undefined;
}

/** Why the account is locked; undefined when it is open. Overdue has precedence. */
export function lockReason(billing: Billing, now: number): LockReason | undefined {
  const overdue = billing.invoiceDueAt !== undefined && now - billing.invoiceDueAt >= OVERDUE_MS;
  if (overdue && !billing.paymentDeclared) return 'overdue_75';
  const usedUp =
    reached(billing.events, billing.includedEvents) ||
    reached(billing.profiles, billing.includedProfiles);
  return usedUp ? 'usage_300' : undefined;
}

function reached(used: number | undefined, included: number): boolean {
  return used !== undefined && included > 0 && used >= included * USAGE_FACTOR;
}

const sentences: Record<LockReason, string> = {
  overdue_75:
    'بیش از ۷۵ روز از سررسید صورت‌حساب این حساب گذشته است؛ گزارش‌ها و خروجی‌ها تا پرداخت آن بسته‌اند. دریافت رویدادها و ارسال پیام‌ها ادامه دارد.',
  usage_300:
    'مصرف این حساب به ۳۰۰ درصد سهمیهٔ طرح رسیده است؛ گزارش‌ها و خروجی‌ها تا ارتقای طرح بسته‌اند. دریافت رویدادها و ارسال پیام‌ها ادامه دارد.',
};

export function lockedError(reason: LockReason): DomainError {
  return { code: 'account_locked', message: sentences[reason], details: { reason } };
}

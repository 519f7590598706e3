/**
 * Why a message was not sent: what `reason` says in outcomes, events, stats and answers, and
 * `reason_fa` to people (management 2.8, docs/messages.md).
 */
export const SKIP_REASONS = {
  no_address: 'این شخص در این کانال نشانی ندارد.',
  suppressed:
    'به این نشانی دیگر پیامی فرستاده نمی‌شود، چون پیام‌های پیشین برگشت خورده‌اند یا گیرنده از آن‌ها شکایت کرده است.',
  unsubscribed: 'این شخص دریافت پیام از این کانال را لغو کرده است.',
  opted_out: 'این شخص در مشخصات خود دریافت پیام تبلیغاتی را نپذیرفته است.',
  no_consent: 'این شخص با دریافت پیام تبلیغاتی موافقت نکرده است.',
  frequency_cap: 'این شخص در این بازه به سقف تعداد پیام‌های تبلیغاتی رسیده است.',
  merged: 'این شخص با گیرندهٔ دیگری یکی شده و پیام یک بار فرستاده می‌شود.',
  cancelled: 'ارسال کمپین لغو شده است.',
  unknown_template: 'این قالب وجود ندارد یا برای این کانال نیست.',
  channel_not_configured: 'این کانال برای حساب تنظیم نشده است.',
  erased: 'اطلاعات این شخص حذف شده است.',
} as const;

export const FAILURE_REASONS = {
  rejected_by_provider: 'سرویس‌دهنده پیام را نپذیرفت.',
  dead_address: 'نشانی این شخص دیگر وجود ندارد.',
  render_failed: 'پیام این شخص از روی قالب ساخته نشد.',
  unsupported_push_service: 'سرویس اعلان این دستگاه پشتیبانی نمی‌شود.',
  too_large: 'پیام از اندازهٔ مجاز کانال بزرگ‌تر است.',
  deadline: 'پیام تا پایان مهلت ارسال پذیرفته نشد.',
  outcome_unknown: 'پاسخ سرویس‌دهنده نرسید و معلوم نیست پیام فرستاده شده است یا نه.',
} as const;

export type SkipReason = keyof typeof SKIP_REASONS;
export type FailureReason = keyof typeof FAILURE_REASONS;

/** In the run's control group: the baseline of uplift. */
export const WITHHELD_REASON = 'control_group';

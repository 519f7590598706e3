import { useLingui } from '@lingui/react/macro';

/** What an action did; the code of one that is not listed here. */
export function useActionName(): (action: string) => string {
  const { t } = useLingui();
  const names: Readonly<Record<string, string>> = {
    'member.signed_in': t`ورود`,
    'member.password_changed': t`تغییر گذرواژه`,
    'member.created': t`افزودن عضو`,
    'member.role_changed': t`تغییر نقش عضو`,
    'member.removed': t`حذف عضو`,
    'write_key.created': t`ساختن کلید نوشتن`,
    'write_key.revoked': t`ابطال کلید نوشتن`,
    'management_key.created': t`ساختن کلید مدیریت`,
    'management_key.revoked': t`ابطال کلید مدیریت`,
    'saved_report.created': t`ذخیرهٔ گزارش`,
    'saved_report.changed': t`تغییر گزارش ذخیره‌شده`,
    'saved_report.removed': t`حذف گزارش ذخیره‌شده`,
    'segment.created': t`ساختن سگمنت`,
    'segment.replaced': t`تغییر سگمنت`,
    'segment.deleted': t`حذف سگمنت`,
    'campaign.created': t`ساختن کمپین`,
    'campaign.submitted': t`فرستادن کمپین برای تأیید`,
    'campaign.approved': t`تأیید کمپین`,
    'campaign.sent': t`ارسال کمپین`,
    'campaign.paused': t`مکث کمپین`,
    'campaign.resumed': t`ادامهٔ کمپین`,
    'campaign.cancelled': t`لغو کمپین`,
    'campaign.changed': t`تغییر کمپین`,
    'message_template.created': t`ساختن قالب`,
    'message_template.changed': t`نسخهٔ تازهٔ قالب`,
    'message_sender.saved': t`تنظیم فرستندهٔ پیام`,
    'account.created': t`ساختن حساب`,
    'account.changed': t`تغییر حساب`,
    'integration.saved': t`ذخیرهٔ وب‌هوک`,
    'integration.enabled': t`روشن کردن وب‌هوک`,
    'integration.disabled': t`خاموش کردن وب‌هوک`,
    'relay.saved': t`ذخیرهٔ رله`,
    'relay.deleted': t`حذف رله`,
    'relay.retried': t`تلاش دوبارهٔ رله`,
  };
  return (action) => names[action] ?? action;
}

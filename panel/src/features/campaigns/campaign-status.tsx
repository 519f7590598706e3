import { useLingui } from '@lingui/react/macro';
import { Tag, type TagTone } from '../../shared/ui/tag.tsx';
import type { CampaignStatus } from './queries.ts';

const TONES: Readonly<Record<CampaignStatus, TagTone>> = {
  draft: 'plain',
  scheduled: 'accent',
  sending: 'accent',
  paused: 'warning',
  sent: 'success',
  cancelled: 'plain',
  failed: 'danger',
};

export function CampaignStatusTag({ status }: { status: CampaignStatus }) {
  const { t } = useLingui();
  const names: Readonly<Record<CampaignStatus, string>> = {
    draft: t`پیش‌نویس`,
    scheduled: t`زمان‌بندی‌شده`,
    sending: t`در حال ارسال`,
    paused: t`در مکث`,
    sent: t`فرستاده‌شده`,
    cancelled: t`لغوشده`,
    failed: t`ناموفق`,
  };
  return <Tag tone={TONES[status]}>{names[status]}</Tag>;
}

/** The names of channels as members read them. */
export function useChannelName(): (channel: string) => string {
  const { t } = useLingui();
  const names: Readonly<Record<string, string>> = {
    email: t`ایمیل`,
    sms: t`پیامک`,
    push: t`اعلان موبایل`,
    web: t`اعلان مرورگر`,
    bale: t`پیام‌رسان بله`,
    eitaa: t`ایتا`,
    rubika: t`روبیکا`,
    inapp: t`درون‌برنامه‌ای`,
    onsite: t`روی سایت`,
  };
  return (channel) => names[channel] ?? channel;
}

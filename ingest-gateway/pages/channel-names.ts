import type { Channel } from '../../events/channels/channel-change.ts';

/** A channel in a list, and its marketing messages in a sentence. */
export const CHANNEL_NAMES: Readonly<Record<Channel, { name: string; messages: string }>> = {
  email: { name: 'ایمیل', messages: 'ایمیل تبلیغاتی' },
  sms: { name: 'پیامک', messages: 'پیامک تبلیغاتی' },
  push: { name: 'اعلان برنامه', messages: 'اعلان تبلیغاتی برنامه' },
  web: { name: 'اعلان مرورگر', messages: 'اعلان تبلیغاتی مرورگر' },
  inapp: { name: 'پیام درون‌برنامه‌ای', messages: 'پیام تبلیغاتی درون‌برنامه‌ای' },
  bale: { name: 'پیام‌رسان بله', messages: 'پیام تبلیغاتی در بله' },
  eitaa: { name: 'پیام‌رسان ایتا', messages: 'پیام تبلیغاتی در ایتا' },
  rubika: { name: 'پیام‌رسان روبیکا', messages: 'پیام تبلیغاتی در روبیکا' },
};

/** The account in a sentence; an account without a name is not left out. */
export function senderName(accountName: string): string {
  return accountName.trim() || 'فرستندهٔ این پیام';
}

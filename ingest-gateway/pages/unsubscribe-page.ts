import type { Channel } from '../../events/channels/channel-change.ts';
import type { TextAnswer } from '../tracking/text-answer.ts';
import { CHANNEL_NAMES, senderName } from './channel-names.ts';
import { markup, type Html } from '../../platform/http/markup.ts';
import { page } from './page.ts';

/** The version of what a person reads before unsubscribing; it changes with the words below. */
export const UNSUBSCRIBE_TEXT = 'unsubscribe-fa-1';

/** Names the channel in the link to the preference centre, which may not know of it yet. */
export const JUST_DONE = 'unsubscribed';

export interface UnsubscribePage {
  /** `asks` before anything happened; `done` only when the command is durable. */
  stage: 'asks' | 'done' | 'done_before' | 'failed';
  channel: Channel;
  accountName: string;
  /** The token of the preference centre. */
  preferences: string;
}

/** The pages of /e/u/{token}. */
export function unsubscribePage({
  stage,
  channel,
  accountName,
  preferences,
}: UnsubscribePage): TextAnswer {
  const sender = markup`<bdi>${senderName(accountName)}</bdi>`;
  const { messages } = CHANNEL_NAMES[channel];
  const link = (text: string, query = '') =>
    markup`<p><a href="../p/${preferences}${query}">${text}</a></p>`;
  const confirm = (text: string) => markup`<form method="post">
<button name="confirm" value="1">${text}</button>
</form>`;
  const contents: Record<UnsubscribePage['stage'], { title: string; content: Html }> = {
    asks: {
      title: `لغو دریافت ${messages}`,
      content: markup`<p>اگر تأیید کنید، ${sender} دیگر برایتان ${messages} نمی‌فرستد.</p>
<p class="quiet">پیام‌های ضروری، مانند وضعیت سفارش، همچنان فرستاده می‌شوند.</p>
${confirm('لغو دریافت')}
${link('انتخاب پیام‌هایی که می‌گیرم')}`,
    },
    done: {
      title: 'دریافت پیام‌ها لغو شد',
      content: markup`<p role="status">${sender} دیگر برایتان ${messages} نمی‌فرستد.</p>
<p class="quiet">پیامی که هم‌اکنون در راه است، شاید تا یک دقیقهٔ دیگر برسد.</p>
${link('اشتباه شد؟ تنظیمات دریافت پیام', `?${JUST_DONE}=${channel}`)}`,
    },
    done_before: {
      title: 'پیش‌تر لغو کرده‌اید',
      content: markup`<p>${sender} برایتان ${messages} نمی‌فرستد.</p>
${link('تنظیمات دریافت پیام')}`,
    },
    failed: {
      title: 'درخواست شما ثبت نشد',
      content: markup`<p role="alert">اکنون نمی‌توانیم درخواست شما را ثبت کنیم. لطفاً چند دقیقهٔ دیگر دوباره تلاش کنید.</p>
${confirm('تلاش دوباره')}`,
    },
  };
  const { title, content } = contents[stage];
  return page({
    status: stage === 'failed' ? 503 : 200,
    title,
    content: markup`<h1>${title}</h1>
${content}`,
  });
}

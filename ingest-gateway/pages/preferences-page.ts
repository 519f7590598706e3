import type { Channel } from '../../events/channels/channel-change.ts';
import type { ConsentState } from '../../events/channels/chosen-consents.ts';
import type { TextAnswer } from '../tracking/text-answer.ts';
import { CHANNEL_NAMES, senderName } from './channel-names.ts';
import { markup, type Html } from '../../platform/http/markup.ts';
import { page } from './page.ts';

/** The version of what a person reads before saving; it changes with the words below. */
export const PREFERENCES_TEXT = 'preferences-fa-1';

export interface PreferencesPage {
  /** `failed`: the choice may not be durable; the form holds it for another try. */
  stage: 'asks' | 'saved' | 'failed';
  accountName: string;
  /** States that the form reports as shown. */
  shown: ReadonlyMap<Channel, ConsentState>;
  checked: ReadonlySet<Channel>;
}

const TITLE = 'تنظیمات دریافت پیام';

const NOTES: Record<PreferencesPage['stage'], Html> = {
  asks: markup``,
  saved: markup`<p class="note" role="status">تنظیمات شما ذخیره شد.</p>`,
  failed: markup`<p class="note failed" role="alert">تنظیمات شما ذخیره نشد. لطفاً چند دقیقهٔ دیگر دوباره تلاش کنید.</p>`,
};

/** The pages of /e/p/{token}. */
export function preferencesPage({
  stage,
  accountName,
  shown,
  checked,
}: PreferencesPage): TextAnswer {
  const sender = markup`<bdi>${senderName(accountName)}</bdi>`;
  const boxes = [...shown].map(([channel, state]) => {
    const isChecked = checked.has(channel) ? markup` checked` : markup``;
    return markup`<label><input type="checkbox" name="on" value="${channel}"${isChecked}>${CHANNEL_NAMES[channel].name}</label>
<input type="hidden" name="shown" value="${channel}:${state}">
`;
  });
  // The query of the page says what was done before it: the saved page has none.
  const form = markup`<form method="post" action="?">
<fieldset>
<legend>پیام‌های تبلیغاتی ${sender} از چه راه‌هایی به دستتان برسد؟</legend>
${boxes}</fieldset>
<button>ذخیره</button>
</form>
<p class="quiet">پیام‌های ضروری، مانند وضعیت سفارش، همچنان فرستاده می‌شوند.</p>`;
  return page({
    status: stage === 'failed' ? 503 : 200,
    title: TITLE,
    content: markup`<h1>${TITLE}</h1>
${NOTES[stage]}
${shown.size > 0 ? form : markup`<p>${sender} پیام تبلیغاتی نمی‌فرستد.</p>`}`,
  });
}

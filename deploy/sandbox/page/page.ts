import { createHash } from 'node:crypto';
import { CHANNELS, type Channel } from '../../../events/channels/channel-change.ts';
import { markup, type Html } from '../../../platform/http/markup.ts';
import type { KeptMessage } from '../message-store.ts';
import { STYLE } from './style.ts';

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** No script, nothing from elsewhere; frames show the HTML of mails under MAIL_POLICY. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "frame-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** A mail is anybody's HTML: it runs nothing, loads nothing and belongs to no origin. */
export const MAIL_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

const NAMES: Readonly<Record<Channel, string>> = {
  email: 'ایمیل',
  sms: 'پیامک',
  push: 'پوش موبایل',
  web: 'پوش مرورگر',
  inapp: 'صندوق پیام',
  bale: 'بله',
  eitaa: 'ایتا',
  rubika: 'روبیکا',
};
/** The inbox is ours: nothing of it comes here. */
const SHOWN = CHANNELS.filter((channel) => channel !== 'inapp');

const TIME = new Intl.DateTimeFormat('fa-IR-u-ca-persian-nu-arabext', {
  ...{ dateStyle: 'long', timeStyle: 'medium', timeZone: 'Asia/Tehran' },
});
const NUMBER = new Intl.NumberFormat('fa-IR');

export interface ShownPage {
  messages: readonly KeptMessage[];
  /** Messages that are kept altogether. */
  kept: number;
  channel?: string | undefined;
  to?: string | undefined;
}

/** The page of the sandbox: Persian, right to left, without script and external resources. */
export function sandboxPage({ messages, kept, channel, to }: ShownPage): string {
  const link = (name: string | undefined, label: string) => {
    const query = new URLSearchParams({
      ...(name === undefined ? {} : { channel: name }),
      ...(to === undefined ? {} : { to }),
    }).toString();
    const current: Html = { html: name === channel ? ' aria-current="page"' : '' };
    return markup`<a href="${query === '' ? '/' : `/?${query}`}"${current}>${label}</a>\n`;
  };
  const hidden =
    channel === undefined ? [] : [markup`<input type="hidden" name="channel" value="${channel}">`];
  const none =
    kept === 0
      ? 'هنوز پیامی نرسیده است. پیام‌هایی که حساب نمایشی می‌فرستد این‌جا دیده می‌شوند.'
      : 'پیامی با این مشخصات نیست.';
  return markup`<!doctype html>
<html lang="fa" dir="rtl">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>پیام‌های آزمایشی روند</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<main>
<h1>پیام‌های آزمایشی</h1>
<p class="quiet">این پیام‌ها به کسی نرسیده‌اند. ${NUMBER.format(kept)} پیام نگه داشته شده است؛ پس از هزار پیام، قدیمی‌ترین‌ها کنار می‌روند.</p>
<nav aria-label="کانال">
${[link(undefined, 'همه'), ...SHOWN.map((name) => link(name, NAMES[name]))]}</nav>
<form action="/" method="get">
${hidden}<input name="to" dir="auto" value="${to ?? ''}" placeholder="نشانی گیرنده" aria-label="نشانی گیرنده">
<button>جست‌وجو</button>
</form>
${messages.length === 0 ? [markup`<p>${none}</p>`] : messages.map(article)}
</main>
</body>
</html>
`.html;
}

function article(message: KeptMessage): Html {
  const { channel, provider, to, received_at: at } = message;
  const heading = message.subject === '' ? message.title : message.subject;
  const more = JSON.stringify({ data: message.data, headers: message.headers }, null, 2);
  return markup`<article>
<header><span class="channel">${NAMES[channel]}</span> <bdi>${provider}</bdi> <span>به <bdi>${to}</bdi></span> <time datetime="${at}">${TIME.format(new Date(at))}</time></header>
${heading === '' ? [] : [markup`<h2 dir="auto">${heading}</h2>\n`]}${message.text === '' ? [] : [markup`<p class="text" dir="auto">${message.text}</p>\n`]}${message.html === '' ? [] : [htmlOf(message.id)]}<details><summary>جزئیات</summary><pre dir="ltr">${more}</pre></details>
</article>
`;
}

function htmlOf(id: number): Html {
  return markup`<details><summary>نسخهٔ HTML</summary><iframe loading="lazy" sandbox src="/messages/${String(id)}/html" title="نسخهٔ HTML"></iframe></details>\n`;
}

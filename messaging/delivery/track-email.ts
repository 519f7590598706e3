import { hash } from 'node:crypto';
import { REF_BYTES, type TrackingTokens } from '../../events/channels/tracking-token.ts';
import type { EmailTracking, RenderedContent } from '../providers/provider.ts';

/** What the links of e-mails are made of. */
export interface TrackingSettings {
  tokens: Pick<TrackingTokens, 'write'>;
  /** EMAIL_TRACK_BASE: the public address of the ingest host, without a slash at its end. */
  baseUrl: string;
}

/**
 * The ref of a message in its tokens and in message_recipients: the same whenever the message is
 * prepared, so that an attempt that is repeated adds no row and keeps its links.
 */
export function trackingRef(messageId: string): Buffer {
  return hash('sha256', `tracking\0${messageId}`, 'buffer').subarray(0, REF_BYTES);
}

interface TrackedEmail {
  content: RenderedContent;
  email: EmailTracking;
}

/**
 * The e-mail with an open pixel and the links to unsubscribe and to the preference centre, which
 * every e-mail carries (docs/messages.md, Links). They come after the links of the content were
 * tagged.
 */
export function trackEmail(
  content: RenderedContent,
  { accountId, messageId }: { accountId: number; messageId: string },
  { tokens, baseUrl }: TrackingSettings,
): TrackedEmail {
  const tracked = { accountId, ref: trackingRef(messageId) };
  const page = (path: string, purpose: 'open' | 'unsubscribe' | 'preferences') =>
    `${baseUrl}/e/${path}/${tokens.write(purpose, tracked)}`;
  const email = {
    bounceLocal: tokens.write('bounce', tracked),
    unsubscribeUrl: page('u', 'unsubscribe'),
    preferencesUrl: page('p', 'preferences'),
  };
  const { html, text } = content;
  return {
    content: {
      ...content,
      html: html === '' ? '' : beforeEnd(html, htmlFooter(email, page('o', 'open'))),
      text: text === '' ? '' : `${text.trimEnd()}\n\n${textFooter(email)}\n`,
    },
    email,
  };
}

const UNSUBSCRIBE = 'لغو دریافت ایمیل‌های تبلیغاتی';
const PREFERENCES = 'تنظیمات دریافت پیام';

type FooterLinks = Pick<EmailTracking, 'unsubscribeUrl' | 'preferencesUrl'>;

/** Mail programs rewrite html and body: the direction stands here, too. URLs need no escaping. */
function htmlFooter({ unsubscribeUrl, preferencesUrl }: FooterLinks, pixel: string): string {
  const style = 'margin:24px 0 0;font:12px Tahoma,sans-serif;color:#666;text-align:right';
  return (
    `<p dir="rtl" lang="fa" style="${style}"><a href="${unsubscribeUrl}" style="color:#666">${UNSUBSCRIBE}</a>` +
    ` · <a href="${preferencesUrl}" style="color:#666">${PREFERENCES}</a></p>` +
    `<img src="${pixel}" width="1" height="1" alt="" style="display:block;border:0">`
  );
}

function textFooter({ unsubscribeUrl, preferencesUrl }: FooterLinks): string {
  return `${UNSUBSCRIBE}: ${unsubscribeUrl}\n${PREFERENCES}: ${preferencesUrl}`;
}

/** Inside the body, where there is one. */
function beforeEnd(html: string, added: string): string {
  const ends = [...html.matchAll(/<\/(?:body|html)\s*>/gi)];
  const [last, beforeLast] = ends.reverse();
  const isAfterBody = last?.[0].toLowerCase().startsWith('</html') && beforeLast !== undefined;
  const end = (isAfterBody ? beforeLast : last)?.index ?? html.length;
  return html.slice(0, end) + added + html.slice(end);
}

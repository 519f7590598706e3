import { describe, expect, it } from 'vitest';
import { TrackingTokens } from '../../events/channels/tracking-token.ts';
import { trackEmail, trackingRef } from './track-email.ts';

const tokens = new TrackingTokens([{ id: 1, bytes: Buffer.alloc(32, 1) }]);
const settings = { tokens, baseUrl: 'https://in.example.ir' };
const of = { accountId: 7, messageId: 't7.order-1234' };
const EMPTY = { subject: 's', title: '', text: '', html: '', url: '', data: {} };

const track = (content: { text?: string; html?: string }) =>
  trackEmail({ ...EMPTY, ...content }, of, settings);
const tokenIn = (url: string | undefined) => url?.split('/').at(-1) ?? '';
const hrefs = (html: string) => [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url]) => url);

describe('a tracked e-mail', () => {
  it('links to pages of its message, in HTML and in text, and has a pixel', () => {
    const { content, email } = track({ html: '<p>سلام</p>', text: 'سلام\n' });
    const [unsubscribe, preferences, pixel] = hrefs(content.html);
    expect(unsubscribe).toBe(email.unsubscribeUrl);
    expect(preferences).toBe(email.preferencesUrl);
    expect(unsubscribe).toContain('https://in.example.ir/e/u/');
    expect(preferences).toContain('https://in.example.ir/e/p/');
    expect(pixel).toContain('https://in.example.ir/e/o/');
    expect(content.text).toBe(
      `سلام\n\nلغو دریافت ایمیل‌های تبلیغاتی: ${unsubscribe}\nتنظیمات دریافت پیام: ${preferences}\n`,
    );
    const message = { accountId: 7, ref: trackingRef(of.messageId) };
    expect(tokens.read('unsubscribe', tokenIn(unsubscribe))).toEqual(message);
    expect(tokens.read('preferences', tokenIn(preferences))).toEqual(message);
    expect(tokens.read('open', tokenIn(pixel))).toEqual(message);
    expect(tokens.read('bounce', email.bounceLocal)).toEqual(message);
  });

  it('keeps the part that it does not have', () => {
    expect(track({ text: 't' }).content.html).toBe('');
    expect(track({ html: 'h' }).content.text).toBe('');
  });

  it.each([
    ['<html><body>x</body></html>', '<html><body>x', '</body></html>'],
    ['<BODY>x</BODY >\n</HTML>', '<BODY>x', '</BODY >\n</HTML>'],
    ['<body>x', '<body>x', ''],
    ['x</html>', 'x', '</html>'],
    ['<p>&lt;/body&gt;</body> x</body>', '<p>&lt;/body&gt;</body> x', '</body>'],
  ])('has its footer within the body of %s', (html, before, after) => {
    const { content } = track({ html });
    expect(content.html.startsWith(`${before}<p dir="rtl"`)).toBe(true);
    expect(content.html.endsWith(`>${after}`)).toBe(true);
  });

  it('has the same links whenever it is prepared, and others than another message', () => {
    expect(track({ html: 'h' })).toEqual(track({ html: 'h' }));
    const other = trackEmail(
      { ...EMPTY, html: 'h' },
      { ...of, messageId: 't7.order-12345' },
      settings,
    );
    expect(other.email).not.toEqual(track({ html: 'h' }).email);
  });

  it('of any template is made in time that grows with its length', () => {
    const html = '</body'.repeat(80_000);
    expect(track({ html }).content.html.length).toBeGreaterThan(html.length);
  });
});

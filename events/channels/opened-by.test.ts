import { expect, it } from 'vitest';
import { openedBy, type OpenedBy } from './opened-by.ts';

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

it.each<[OpenedBy, string]>([
  [
    'proxy',
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
  ],
  ['proxy', 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'],
  ['proxy', 'Mozilla/5.0'],
  ['person', CHROME],
  [
    'person',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  ],
  [
    'person',
    'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/7.0; Microsoft Outlook 16.0.5413; ms-office; MSOffice 16)',
  ],
  ['person', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.4.0'],
  ['person', 'Dalvik/2.1.0 (Linux; U; Android 14; SM-A546E Build/UP1A.231005.007)'],
  ['bot', ''],
  ['bot', 'python-requests/2.32.3'],
  ['bot', 'Go-http-client/1.1'],
  ['bot', 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'],
  [
    'bot',
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/103.0 Safari/537.36 BingPreview/1.0b',
  ],
  ['bot', 'BarracudaCentral/2.0'],
])('an open is that of a %s: %s', (by, userAgent) => {
  expect(openedBy({ userAgent, purpose: '' })).toBe(by);
});

it('a browser that fetches ahead of a person is a proxy', () => {
  expect(openedBy({ userAgent: CHROME, purpose: 'prefetch;prerender' })).toBe('proxy');
});

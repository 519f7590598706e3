import { list } from 'isbot';
import fc from 'fast-check';
import { truncateBytes } from './bytes.ts';
import { describe, expect, test } from 'vitest';
import { anyText } from './testing/arbitrary-json.ts';
import { isBotUserAgent, UNUSED_PATTERNS } from './bot-user-agent.ts';
import { NO_USER_AGENT, parseUserAgent, UserAgentCache } from './user-agent.ts';

describe('the User-Agent of a person, an app or a backend', () => {
  test.each([
    '',
    '-',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 300.0.0.0',
    'Mozilla/5.0 (Linux; Android 10; CUBOT_X20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/100.0.0.0 Mobile Safari/537.36',
    'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0',
    'Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; WOW64; Trident/5.0; chromeframe/19.0.1084.52)',
    'ShopApp/1.0',
    'Digikala/3.1 CFNetwork/1404.0.5 Darwin/22.3.0',
    'TrackMyOrder/2 (iPhone; iOS 16.1)',
    'Newsify/120 CFNetwork/672.0.8 Darwin/14.0.0',
    'python-requests/2.31.0',
    'Python-urllib/3.11',
    'python-httpx/0.27',
    'Python/3.11 aiohttp/3.8.4',
    'okhttp/4.12.0',
    'axios/1.6.2',
    'curl/8.5.0',
    'Wget/1.21',
    'Go-http-client/1.1',
    'Go-http-client/2.0',
    'node',
    'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)',
    'undici',
    'got (https://github.com/sindresorhus/got)',
    'Java/17.0.2',
    'Java-http-client/17.0.2',
    'Apache-HttpClient/4.5.13 (Java/11)',
    'GuzzleHttp/7',
    'GuzzleHttp/6.5.5 curl/7.68.0 PHP/7.4.3',
    'PHP/8.2',
    'Symfony HttpClient/Curl',
    'WordPress/6.4; https://shop.example.ir',
    'WooCommerce/8.0 Hookshot (WordPress/6.3)',
    'Ruby',
    'Faraday v2.7.10',
    'rest-client/2.1.0 (linux x86_64) ruby/3.1.2p20',
    'Dart/3.1 (dart:io)',
    'Dalvik/2.1.0 (Linux; U; Android 9; SM-J730F)',
    'libwww-perl/6.67',
    'PostmanRuntime/7.36.0',
    'reqwest/0.11',
    'RestSharp/110.2',
  ])('is not a bot: %s', (userAgent) => {
    expect(isBotUserAgent(userAgent)).toBe(false);
  });
});

describe('a User-Agent that declares a bot or is a known crawler', () => {
  test.each([
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    'Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)',
    'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
    'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
    'Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)',
    'Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36',
    'Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/534.34 (KHTML, like Gecko) PhantomJS/1.9.2 Safari/534.34',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'TelegramBot (like TwitterBot)',
    'Twitterbot/1.0',
    'WhatsApp/2.23.20.0',
    'AdsBot-Google (+http://www.google.com/adsbot.html)',
    'Scrapy/2.11.0 (+https://scrapy.org)',
    'python-requests/2.31.0 price-crawler',
    'UniversalFeedParser/4.2-pre-314-svn +http://feedparser.org/',
    'Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
  ])('is a bot: %s', (userAgent) => {
    expect(isBotUserAgent(userAgent)).toBe(true);
  });
});

test('every disabled pattern exists in isbot', () => {
  expect([...UNUSED_PATTERNS].filter((pattern) => !list.includes(pattern))).toEqual([]);
});

describe('parseUserAgent', () => {
  test.each([
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
      {
        browserName: 'Chrome',
        browserVersion: '126.0.0.0',
        deviceType: 'desktop',
        osName: 'windows',
        osVersion: '10',
      },
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1',
      {
        browserName: 'Safari',
        deviceType: 'mobile',
        deviceVendor: 'Apple',
        deviceModel: 'iPhone',
        osName: 'ios',
        osVersion: '17.0',
      },
    ],
    [
      'Digikala/3.1 CFNetwork/1404.0.5 Darwin/22.3.0',
      { browserName: 'Digikala', browserVersion: '3.1' },
    ],
    [
      'python-requests/2.31.0',
      { browserName: '', deviceType: '', osName: '', userAgent: 'python-requests/2.31.0' },
    ],
  ])('returns the browser, the device and the system of %s', (userAgent, facts) => {
    expect(parseUserAgent(userAgent)).toMatchObject(facts);
  });

  test('returns no facts for an empty header', () => {
    expect(parseUserAgent('')).toEqual(NO_USER_AGENT);
    expect(parseUserAgent('  ')).toEqual(NO_USER_AGENT);
  });

  test('returns facts within their bounds for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyText, fc.string()),
        fc.constantFrom('', 'Mozilla/5.0 (', 'Opera/9 ', 'x'.repeat(600)),
        (text, prefix) => {
          const facts = parseUserAgent(prefix + text);
          expect(Buffer.byteLength(facts.userAgent)).toBeLessThanOrEqual(512);
          expect(Buffer.byteLength(facts.browserName)).toBeLessThanOrEqual(64);
          expect(Buffer.byteLength(facts.browserVersion)).toBeLessThanOrEqual(32);
          expect(Buffer.byteLength(facts.deviceVendor)).toBeLessThanOrEqual(64);
        },
      ),
    );
  });
});

test('a header cut to 512 bytes has the facts of the whole header', () => {
  fc.assert(
    fc.property(
      fc.oneof(anyText, fc.string()),
      fc.nat(520),
      fc.boolean(),
      (text, spaces, isBot) => {
        const header = `Mozilla/5.0 (${'ن'.repeat(spaces % 250)}${' '.repeat(spaces)}${text}😀${isBot ? 'Googlebot' : ''}`;
        const cache = new UserAgentCache(2);
        expect(cache.facts(truncateBytes(header, 512))).toEqual(cache.facts(header));
      },
    ),
  );
});

test('the cache returns what parsing returns and stays within its limit', () => {
  const cache = new UserAgentCache(2);
  for (const userAgent of ['a/1', 'b/1', 'a/1', 'c/1', 'a/1', 'd/1', 'x'.repeat(5000)])
    expect(cache.facts(userAgent)).toEqual(parseUserAgent(userAgent));
  expect(cache.size).toBe(2);
  expect(cache.facts('d/1')).toBe(cache.facts('d/1'));
});

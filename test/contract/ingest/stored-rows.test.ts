import { beforeAll, describe, expect, it } from 'vitest';
import type { Ready } from '../../../cli/stack/ready.ts';
import { post } from '../../support/client.ts';
import {
  createAccount,
  eventually,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

type Row = Record<string, unknown>;

interface Case {
  name: string;
  /** Section of the ingest specification. */
  section: string;
  path: 'track' | 'identify' | 'page' | 'screen' | 'alias';
  body: Record<string, unknown>;
  headers?: Record<string, string>;
  stored: Row;
  warnings?: unknown[];
}

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
const long = (unit: string, times: number) => unit.repeat(times);

const CASES: Case[] = [
  {
    name: 'a track event',
    section: '4.3',
    path: 'track',
    body: { event: 'signed_up', user_id: 'u', anonymous_id: 'a' },
    stored: {
      type: 'track',
      event: 'signed_up',
      user_id: 'u',
      anonymous_id: 'a',
      source: 'sdk',
      currency: 'IRR',
      revenue: 0,
    },
  },
  {
    name: 'the path decides the type',
    section: '2.1',
    path: 'track',
    body: { event: 'x', user_id: 'u', type: 'identify' },
    stored: { type: 'track', event: 'x' },
  },
  {
    name: 'a page without a name',
    section: '4.3',
    path: 'page',
    body: { user_id: 'u' },
    stored: { type: 'page', event: 'page_viewed' },
  },
  {
    name: 'a page with a name',
    section: '4.3',
    path: 'page',
    body: { event: 'Home', user_id: 'u' },
    stored: { type: 'page', event: 'Home' },
  },
  {
    name: 'a screen without a name',
    section: '4.3',
    path: 'screen',
    body: { user_id: 'u' },
    stored: { type: 'screen', event: 'screen_viewed' },
  },
  {
    name: 'identify: fixed name, empty properties',
    section: '2.3',
    path: 'identify',
    body: { event: 'other', user_id: 'u', properties: { a: 1 }, traits: { city: 'تهران' } },
    stored: { type: 'identify', event: 'identify', properties: {}, property_numbers: {} },
  },
  {
    name: 'alias: fixed name',
    section: '4.3',
    path: 'alias',
    body: { event: 'other', user_id: 'u', previous_id: 'p' },
    stored: { type: 'alias', event: 'alias', previous_id: 'p' },
  },
  {
    name: 'Persian normalisation of the event name',
    section: '2.3',
    path: 'track',
    body: { event: '  خريد   كتاب ', user_id: 'u' },
    stored: { event: 'خرید کتاب' },
  },
  {
    name: 'case, slashes and emoji stay',
    section: '2.1',
    path: 'track',
    body: { event: 'Bought / Sold 🎉', user_id: 'u' },
    stored: { event: 'Bought / Sold 🎉' },
  },
  {
    name: 'values of both maps',
    section: '2.3',
    path: 'track',
    body: {
      event: 'x',
      user_id: 'u',
      properties: {
        n: 1.5,
        whole: 2.0,
        t: true,
        f: false,
        s: '۱۲',
        nothing: null,
        list: [1, 'a'],
        object: { a: { b: 1 } },
      },
    },
    stored: {
      properties: {
        n: '1.5',
        whole: '2',
        t: 'true',
        f: 'false',
        s: '۱۲',
        list: '[1,"a"]',
        object: '{"a":{"b":1}}',
      },
      property_numbers: { n: 1.5, whole: 2, t: 1, f: 0 },
    },
  },
  {
    name: 'keys',
    section: '2.3',
    path: 'track',
    body: {
      event: 'x',
      user_id: 'u',
      properties: { ' a.b-c  d ': 'v', __x__: 'w', ' . ': 'gone', كي: 'k' },
    },
    stored: { properties: { a_b_c_d: 'v', x: 'w', كي: 'k' } },
  },
  {
    name: 'string values are normalised and bounded on a character boundary',
    section: '2.3',
    path: 'track',
    body: { event: 'x', user_id: 'u', properties: { p: 'عليك', big: long('آ', 5000) } },
    stored: { properties: { p: 'علیک', big: long('آ', 4096) } },
  },
  {
    name: 'revenue of revenue',
    section: '2.3',
    path: 'track',
    body: { event: 'x', user_id: 'u', properties: { revenue: 12.5, total: 3, currency: 'usd' } },
    stored: { revenue: 12.5, currency: 'USD' },
  },
  {
    name: 'revenue: the first that is not zero',
    section: '2.3',
    path: 'track',
    body: { event: 'x', user_id: 'u', properties: { revenue: 0, total: 0, value: 7 } },
    stored: { revenue: 7, currency: 'IRR' },
  },
  {
    name: 'revenue of price and quantity',
    section: '2.3',
    path: 'track',
    body: { event: 'x', user_id: 'u', properties: { price: 10, quantity: 3 } },
    stored: { revenue: 30 },
  },
  {
    name: 'a quantity that is not positive is one',
    section: '2.3',
    path: 'track',
    body: { event: 'x', user_id: 'u', properties: { price: 10, quantity: 0 } },
    stored: { revenue: 10 },
  },
  {
    name: 'text is no amount',
    section: '2.3',
    path: 'track',
    body: { event: 'x', user_id: 'u', properties: { revenue: '12' } },
    stored: { revenue: 0 },
  },
  {
    name: 'currency is cut at eight bytes',
    section: '2.3',
    path: 'track',
    body: { event: 'x', user_id: 'u', properties: { currency: 'abcdefghij' } },
    stored: { currency: 'ABCDEFGH' },
  },
  {
    name: 'every field of the context',
    section: '2.2',
    path: 'track',
    body: {
      event: 'x',
      user_id: 'u',
      context: {
        app: { version: '1.2' },
        device: {
          type: 'phone',
          model: 'M',
          manufacturer: 'V',
          push_provider: 'fcm',
          id: 'dropped',
          push_token: 'dropped',
        },
        os: { name: 'iOS', version: '18' },
        network: { carrier: 'MCI' },
        page: { url: 'https://x.ir/a?b', path: '/a', referrer: 'https://y.ir', title: 'صفحه  اول' },
        campaign: {
          source: 's',
          medium: 'm',
          name: 'n',
          term: 't',
          content: 'c',
          campaign_id: 5,
          journey_id: 6,
          variant_id: 'v',
          message_id: 'mm',
          token: 'tok',
        },
        locale: 'fa-IR',
        timezone: 'Asia/Tehran',
        session_id: 'sess',
        location: { country: 'ايران', region: 'تهران', city: 'ري', latitude: 1 },
        library: { name: 'web', version: '2' },
        screen: { width: 1 },
      },
    },
    stored: {
      app_version: '1.2',
      device_type: 'phone',
      device_model: 'M',
      device_vendor: 'V',
      push_provider: 'fcm',
      os_name: 'ios',
      os_version: '18',
      carrier: 'MCI',
      page_url: 'https://x.ir/a?b',
      page_path: '/a',
      page_referrer: 'https://y.ir',
      page_title: 'صفحه اول',
      utm_source: 's',
      utm_medium: 'm',
      utm_campaign: 'n',
      utm_term: 't',
      utm_content: 'c',
      campaign_id: 5,
      journey_id: 6,
      variant_id: 'v',
      source_message_id: 'mm',
      sg_t: 'tok',
      locale: 'fa-IR',
      timezone: 'Asia/Tehran',
      session_id: 'sess',
      country: 'ایران',
      region: 'تهران',
      city: 'ری',
      library_name: 'web',
      library_version: '2',
    },
  },
  {
    name: 'session_id is cut silently',
    section: '2.2',
    path: 'track',
    body: { event: 'x', user_id: 'u', context: { session_id: long('s', 300) } },
    stored: { session_id: long('s', 256) },
  },
  {
    name: 'bounds of the context cut on a character boundary',
    section: '8',
    path: 'track',
    body: {
      event: 'x',
      user_id: 'u',
      context: { location: { city: long('آ', 40) }, locale: long('x', 40) },
    },
    stored: { city: long('آ', 32), locale: long('x', 32) },
  },
  {
    name: 'the User-Agent fills gaps',
    section: '2.2',
    path: 'track',
    body: { event: 'x', user_id: 'u' },
    headers: { 'user-agent': CHROME },
    stored: { browser_name: 'Chrome', os_name: 'windows', is_bot: false },
  },
  {
    name: 'what the SDK says of the device wins',
    section: '2.2',
    path: 'track',
    body: { event: 'x', user_id: 'u', context: { os: { name: 'Android' }, user_agent: 'ignored' } },
    headers: { 'user-agent': CHROME },
    stored: { os_name: 'android', browser_name: 'Chrome' },
  },
  {
    name: 'a crawler is flagged and kept',
    section: '2.2',
    path: 'page',
    body: { user_id: 'u' },
    headers: {
      'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    },
    stored: { is_bot: true },
  },
  {
    name: 'a backend is no bot',
    section: '2.2',
    path: 'track',
    body: { event: 'x', user_id: 'u' },
    headers: { 'user-agent': 'python-requests/2.32' },
    stored: { is_bot: false },
  },
  {
    name: 'the IP is that of the connection',
    section: '2.2',
    path: 'track',
    body: { event: 'x', user_id: 'u', context: { ip: '9.9.9.9' } },
    stored: { ip: '127.0.0.1' },
  },
  {
    name: 'lone surrogates become well-formed',
    section: '2.1',
    path: 'track',
    body: { event: 'x', user_id: 'u', properties: { s: 'a\ud800b' } },
    stored: { properties: { s: 'a\ufffdb' } },
  },
  {
    name: 'a timestamp of the past',
    section: '2.4',
    path: 'track',
    body: { event: 'x', user_id: 'u', timestamp: new Date(Date.now() - 86_400_000).toISOString() },
    stored: {},
  },
  {
    name: 'a timestamp far ahead is clamped',
    section: '2.4',
    path: 'track',
    body: { event: 'x', user_id: 'u', timestamp: new Date(Date.now() + 7_200_000).toISOString() },
    stored: {},
    warnings: [expect.objectContaining({ code: 'timestamp_in_future' })],
  },
];

describe('the stored row of an event (through the whole pipeline)', () => {
  let ready: Ready;
  const client = openClickhouse();
  let account: TestAccount;
  let stored: Map<string, Row>;

  beforeAll(async () => {
    ready = readyStack();
    account = await createAccount('stored rows');
    for (const [at, one] of CASES.entries()) {
      const answer = await post(
        `${ready.ingest_url}/v1/${one.path}`,
        account.writeKey,
        { message_id: `case-${at}`, ...one.body },
        one.headers,
      );
      expect(answer, one.name).toMatchObject({
        status: 200,
        body: { status: 'ok', accepted: 1, ...(one.warnings ? { warnings: one.warnings } : {}) },
      });
      if (!one.warnings) expect(answer.body, one.name).not.toHaveProperty('warnings');
    }
    const all = await eventually({ ms: 30_000, waitingFor: 'the rows' }, async () => {
      const found = await rows<Row>(client, 'SELECT * FROM events WHERE account_id = {a:UInt64}', {
        a: account.accountId,
      });
      return found.length >= CASES.length ? found : undefined;
    });
    stored = new Map(all.map((row) => [String(row['message_id']), row]));
  });

  it.each(CASES.map((one, at) => ({ ...one, at })))(
    'has the columns of the specification: $section $name',
    ({ at, stored: expected }) => {
      expect(stored.get(`case-${at}`)).toMatchObject({
        account_id: account.accountId,
        ...expected,
      });
    },
  );

  it('has no other entries in its maps (ingest 2.3)', () => {
    const at = CASES.findIndex((one) => one.name === 'values of both maps');
    const row = stored.get(`case-${at}`);
    expect(row?.['properties']).toEqual(CASES[at]?.stored['properties']);
    expect(row?.['property_numbers']).toEqual(CASES[at]?.stored['property_numbers']);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import {
  admin,
  createAccount,
  eventually,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

type Row = Record<string, unknown>;

const client = openClickhouse();
let account: TestAccount;
beforeAll(async () => {
  account = await createAccount('tables');
  await admin('account', 'set', '--account', String(account.accountId), 'retention_days=60');
});

async function send(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const answer = await post(
    `${readyStack().ingest_url}/v1/${path}`,
    account.writeKey,
    body,
    headers,
  );
  expect(answer.status).toBe(200);
  return answer.body;
}

/** The rows of message ids that begin with `prefix`, by what follows it. */
async function stored(prefix: string, count: number): Promise<Map<string, Row>> {
  const query =
    'SELECT *, toUnixTimestamp64Milli(timestamp) AS at, toUnixTimestamp64Milli(received_at) AS received FROM events WHERE account_id = {a:UInt64} AND startsWith(message_id, {p:String})';
  const found = await eventually(
    { ms: 60_000, waitingFor: `${count} rows of ${prefix}` },
    async () => {
      const all = await rows<Row>(client, query, { a: account.accountId, p: prefix });
      return all.length >= count ? all : undefined;
    },
  );
  expect(found).toHaveLength(count);
  return new Map(found.map((row) => [String(row['message_id']).slice(prefix.length), row]));
}

describe('Persian text (ingest 2.3), through the whole pipeline', () => {
  const EFFECTS: [string, string, string][] = [
    ['Arabic yeh', 'علي', 'علی'],
    ['alef maksura', 'موسى', 'موسی'],
    ['Arabic kaf', 'كتاب', 'کتاب'],
    ['teh marbuta', 'فاطمة', 'فاطمه'],
    ['heh with yeh above', 'خانۀ', 'خانه'],
    ['hamza on waw', 'مؤمن', 'مومن'],
    ['alef with hamza above, below, and wasla', 'أإٱ', 'ااا'],
    ['diacritics', 'مُحَمَّد', 'محمد'],
    ['tatweel', 'سـلام', 'سلام'],
    ['zero-width joiner', 'می\u200dشود', 'میشود'],
    ['whitespace, no-break space, byte-order mark', '  a \u00a0\t\ufeff b ', 'a b'],
  ];
  const EXCEPTIONS = ['می\u200cشود', 'Latin CASE', '۱۲۳', 'a\u200bb', 'آب', 'رئیس', 'جزء'];

  it('is normalised in properties, page titles and places, but not in keys, ids, URLs and UTM values', async () => {
    const texts = [...EFFECTS.map(([, sent]) => sent), ...EXCEPTIONS];
    const wanted = [...EFFECTS.map(([, , expected]) => expected), ...EXCEPTIONS];
    const raw = 'كتاب  علي';
    const context = {
      page: { title: raw, url: raw, path: raw, referrer: raw },
      campaign: { source: raw, medium: raw, name: raw, term: raw, content: raw },
      location: { country: raw, region: raw, city: raw },
      session_id: raw,
    };
    const items = texts.map((text, at) => ({
      type: 'track',
      event: `e ${text.replaceAll('\t', ' ')}`,
      user_id: raw,
      message_id: `fa-${at}`,
      properties: { كلید: text },
      context,
    }));
    await send('batch', { batch: items });
    const found = await stored('fa-', items.length);
    expect(
      texts.map(
        (_, at) => (found.get(String(at))?.['properties'] as Record<string, string>)['كلید'],
      ),
    ).toEqual(wanted);
    const clean = 'کتاب علی';
    expect(found.get('0')).toMatchObject({
      ...{ event: `e ${wanted[0] ?? ''}`, user_id: raw, session_id: raw },
      ...{ page_title: clean, country: clean, region: clean, city: clean },
      ...{ page_url: raw, page_path: raw, page_referrer: raw },
      ...{ utm_source: raw, utm_medium: raw, utm_campaign: raw, utm_term: raw, utm_content: raw },
    });
  });
});

describe('time (ingest 2.4), through the whole pipeline', () => {
  const DAY = 86_400_000;
  const iso = (ms: number) => new Date(ms).toISOString();

  it('is clamped, corrected for clock skew, and unchanged within the window', async () => {
    const now = Date.now();
    const item = (id: string, more: object) => ({
      type: 'track',
      event: 'x',
      user_id: 'u',
      message_id: `time-${id}`,
      ...more,
    });
    const answer = await send('batch', {
      batch: [
        item('none', {}),
        item('inside', { timestamp: iso(now - 5 * DAY) }),
        item('offset', {
          timestamp: `${new Date(now - 10 * DAY + 3.5 * 3_600_000).toISOString().slice(0, -1)}456+03:30`,
        }),
        item('ahead by less than an hour', { timestamp: iso(now + 3_000_000) }),
        item('ahead', { timestamp: iso(now + 2 * 3_600_000) }),
        item('too old', { timestamp: iso(now - 61 * DAY) }),
        item('clock two hours slow', {
          timestamp: iso(now - 3 * 3_600_000),
          sent_at: iso(now - 2 * 3_600_000),
        }),
        item('clock half a minute off', {
          timestamp: iso(now - 3_600_000),
          sent_at: iso(now - 30_000),
        }),
        item('corrected out of the window', {
          timestamp: iso(now - 59 * DAY),
          sent_at: iso(now + 2 * DAY),
        }),
      ],
    });
    expect((answer as { warnings: { code: string }[] }).warnings.map(({ code }) => code)).toEqual([
      'timestamp_in_future',
      'timestamp_too_old',
    ]);
    const found = await stored('time-', 9);
    const at = (id: string) => Number(found.get(id)?.['at']);
    const received = Number(found.get('none')?.['received']);
    expect(at('none')).toBe(received);
    expect(at('inside')).toBe(now - 5 * DAY);
    expect(at('offset')).toBe(now - 10 * DAY);
    expect(at('ahead by less than an hour')).toBe(now + 3_000_000);
    expect(at('ahead')).toBe(received);
    expect(at('too old')).toBe(received - 60 * DAY);
    expect(at('clock two hours slow')).toBe(received - 3_600_000);
    expect(at('clock half a minute off')).toBe(now - 3_600_000);
    expect(at('corrected out of the window')).toBe(now - 59 * DAY);
  });
});

describe('a batch (ingest 2.1, 2.3)', () => {
  it('applies its context and sent_at to items that have none', async () => {
    const now = Date.now();
    const time = { timestamp: new Date(now - 7_200_000).toISOString() };
    const item = { type: 'track', event: 'x', user_id: 'u', ...time };
    await send('batch', {
      context: { locale: 'fa', session_id: 'common' },
      sent_at: new Date(now - 3_600_000).toISOString(),
      batch: [
        { ...item, message_id: 'inherit-none' },
        { ...item, message_id: 'inherit-null', context: null, sent_at: null },
        {
          ...item,
          message_id: 'inherit-own',
          context: { locale: 'en' },
          sent_at: new Date(now).toISOString(),
        },
      ],
    });
    const found = await stored('inherit-', 3);
    const of = (id: string) => {
      const { locale, session_id, at, received } = found.get(id) ?? {};
      return { locale, session_id, back: Number(received) - Number(at) };
    };
    for (const id of ['none', 'null'])
      expect(of(id)).toEqual({ locale: 'fa', session_id: 'common', back: 3_600_000 });
    expect(of('own')).toMatchObject({ locale: 'en', session_id: '' });
    expect(Number(found.get('own')?.['at'])).toBe(now - 7_200_000);
  });

  it('stores 256 properties, including nulls, and warns of those that it drops', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 300 }, (_, n) => [`k${n}`, n < 10 ? null : n]),
    );
    const answer = await send('track', {
      event: 'x',
      user_id: 'u',
      message_id: 'many-1',
      properties: many,
    });
    expect(answer).toEqual({
      status: 'ok',
      accepted: 1,
      warnings: [{ code: 'too_many_properties', field: 'properties', note: 'sent 300, kept 256' }],
    });
    const overflow = `{"event":"x","user_id":"u","message_id":"many-2","properties":{"a":1e999,"b":[1e999],"c":1}}`;
    expect(((await send('track', overflow)) as { warnings: object[] }).warnings).toMatchObject([
      { code: 'unserialisable_property', field: 'a' },
      { code: 'unserialisable_property', field: 'b' },
    ]);
    const found = await stored('many-', 2);
    expect(Object.keys(found.get('1')?.['properties'] as object)).toHaveLength(246);
    expect(found.get('2')).toMatchObject({ properties: { c: '1' }, property_numbers: { c: 1 } });
  });
});

describe('bots (ingest 2.2)', () => {
  const AGENTS: [string, boolean][] = [
    ...(
      [
        'python-requests/2.31',
        'okhttp/4.12.0',
        'axios/1.7.2',
        'curl/8.5.0',
        'Go-http-client/2.0',
        'node',
        '',
      ] as const
    ).map((agent): [string, boolean] => [agent, false]),
    ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', true],
    [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36',
      true,
    ],
  ];

  it('are recognised by their User-Agent; HTTP clients of backends are not bots', async () => {
    for (const [at, [agent]] of AGENTS.entries())
      await send(
        'track',
        { event: 'x', user_id: 'u', message_id: `bot-${at}` },
        { 'user-agent': agent },
      );
    const found = await stored('bot-', AGENTS.length);
    expect(AGENTS.map(([agent], at) => [agent, found.get(String(at))?.['is_bot']])).toEqual(AGENTS);
  });
});

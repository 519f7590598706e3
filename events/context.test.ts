import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJson } from './testing/arbitrary-json.ts';
import { contextColumns, reduceContext, sdkOf, type ContextColumns } from './context.ts';
import { NO_USER_AGENT, parseUserAgent } from './user-agent.ts';

const ANDROID = parseUserAgent(
  'Mozilla/5.0 (Linux; Android 13; SM-S908B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/112.0.0.0 Mobile Safari/537.36',
);
const IPHONE = parseUserAgent(
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1',
);
const columns = (context: unknown) => contextColumns(context, { ip: '', agent: NO_USER_AGENT });

/** Path in the context, column, bound in bytes: the table of ingest 2.2. */
const FIELDS: [path: string, column: keyof ContextColumns, bound: number][] = [
  ['app.version', 'app_version', 64],
  ['device.type', 'device_type', 32],
  ['device.model', 'device_model', 128],
  ['device.manufacturer', 'device_vendor', 64],
  ['device.push_provider', 'push_provider', 16],
  ['os.name', 'os_name', 32],
  ['os.version', 'os_version', 32],
  ['network.carrier', 'carrier', 64],
  ['page.url', 'page_url', 2048],
  ['page.path', 'page_path', 2048],
  ['page.referrer', 'page_referrer', 2048],
  ['page.title', 'page_title', 512],
  ['campaign.source', 'utm_source', 128],
  ['campaign.medium', 'utm_medium', 128],
  ['campaign.name', 'utm_campaign', 128],
  ['campaign.term', 'utm_term', 128],
  ['campaign.content', 'utm_content', 128],
  ['campaign.variant_id', 'variant_id', 64],
  ['campaign.message_id', 'source_message_id', 256],
  ['campaign.token', 'sg_t', 128],
  ['locale', 'locale', 32],
  ['timezone', 'timezone', 64],
  ['session_id', 'session_id', 256],
  ['location.country', 'country', 64],
  ['location.region', 'region', 64],
  ['location.city', 'city', 64],
  ['ip', 'ip', 64],
  ['library.name', 'library_name', 64],
  ['library.version', 'library_version', 32],
];

const at = (path: string, value: unknown) =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

describe('the context fields of ingest 2.2', () => {
  test.each(FIELDS)('store context.%s as %s, at most %i bytes', (path, column, bound) => {
    expect(columns(at(path, 'value 1'))).toEqual({ ...columns({}), [column]: 'value 1' });
    expect(columns(at(path, 'x'.repeat(5000)))[column]).toBe('x'.repeat(bound));
    expect(columns(at(path, `x${'ن'.repeat(5000)}`))[column]).toBe(`x${'ن'.repeat(bound / 2 - 1)}`);
    for (const absent of [null, true, {}, [], ''])
      expect(columns(at(path, absent))).toEqual(columns({}));
  });

  test.each([
    'user_agent',
    'screen.width',
    'location.latitude',
    'device.id',
    'device.name',
    'device.push_token',
    'device.has_gms',
    'browser.name',
    'is_bot',
  ])('do not include context.%s', (path) => {
    expect(columns(at(path, 'value'))).toEqual(columns({}));
  });
});

test.each([
  [5, 5],
  ['5', 5],
  ['0042', 42],
  [0, 0],
  [-1, 0],
  [1.5, 0],
  [1e20, 0],
  ['x5', 0],
  ['5 ', 0],
  ['99999999999999999999', 0],
  [true, 0],
  [null, 0],
])('a campaign id of %j is stored as %d', (sent, stored) => {
  const result = columns({ campaign: { campaign_id: sent, journey_id: sent } });
  expect([result.campaign_id, result.journey_id]).toEqual([stored, stored]);
});

test('a number is stored as its text', () => {
  expect(columns({ app: { version: 2.1 } }).app_version).toBe('2.1');
});

test('only the page title and place names are Persian-normalised', () => {
  const result = columns({
    page: { title: ' كفش  مردانه ', url: 'https://x/ك', path: '/ك', referrer: 'ك' },
    location: { country: 'ايران', region: 'كرج', city: ' كرج ' },
    campaign: { source: 'ك' },
    session_id: 'ك',
  });
  expect(result).toMatchObject({
    page_title: 'کفش مردانه',
    country: 'ایران',
    region: 'کرج',
    city: 'کرج',
  });
  expect(result).toMatchObject({
    page_url: 'https://x/ك',
    page_path: '/ك',
    page_referrer: 'ك',
    utm_source: 'ك',
    session_id: 'ك',
  });
});

describe('device and address', () => {
  test('come from the User-Agent where the context says nothing', () => {
    expect(contextColumns({}, { ip: '', agent: IPHONE })).toMatchObject({
      browser_name: 'Safari',
      browser_version: '17.0',
      device_type: 'mobile',
      device_vendor: 'Apple',
      device_model: 'iPhone',
      os_name: 'ios',
      os_version: '17.0',
      user_agent: IPHONE.userAgent,
      is_bot: false,
    });
  });

  test('come from the SDK where both say something', () => {
    const context = {
      device: { type: 'tablet', model: 'Tab S9', manufacturer: 'Samsung' },
      os: { name: 'Android', version: '14' },
    };
    expect(contextColumns(context, { ip: '', agent: IPHONE })).toMatchObject({
      device_type: 'tablet',
      device_model: 'Tab S9',
      device_vendor: 'Samsung',
      os_name: 'android',
      os_version: '14',
    });
  });

  test('never mix two devices', () => {
    const context = { device: { manufacturer: 'Samsung' }, os: { name: 'Android' } };
    expect(contextColumns(context, { ip: '', agent: IPHONE })).toMatchObject({
      device_vendor: 'Samsung',
      device_model: '',
      os_name: 'android',
      os_version: '',
    });
    expect(contextColumns({ os: { name: 'Android' } }, { ip: '', agent: ANDROID })).toMatchObject({
      os_name: 'android',
      os_version: '13',
    });
  });

  test('come from context.ip only when the address of the connection is unknown', () => {
    expect(contextColumns({ ip: '9.9.9.9' }, { ip: '1.2.3.4', agent: NO_USER_AGENT }).ip).toBe(
      '1.2.3.4',
    );
    expect(contextColumns({ ip: '9.9.9.9' }, { ip: '', agent: NO_USER_AGENT }).ip).toBe('9.9.9.9');
  });
});

test.each([
  [{ library: { name: 'web', version: '1.2' } }, 'web/1.2'],
  [{ library: { name: 'web' } }, 'web'],
  [{ library: {} }, ''],
  [{}, ''],
  [null, ''],
  ['x', ''],
])('the SDK of %j is %j', (context, sdk) => {
  expect(sdkOf(context)).toBe(sdk);
});

test('any JSON gives well-formed columns within their bounds', () => {
  const bounds = new Map<string, number>(FIELDS.map(([, column, bound]) => [column, bound]));
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom(
          'page',
          'device',
          'os',
          'campaign',
          'location',
          'library',
          'ip',
          'app',
          'network',
        ),
        anyJson,
      ),
      (context) => {
        for (const [column, value] of Object.entries(columns(context))) {
          if (typeof value !== 'string') continue;
          expect(Buffer.byteLength(value)).toBeLessThanOrEqual(bounds.get(column) ?? 512);
          expect(value.isWellFormed()).toBe(true);
        }
      },
    ),
  );
});

describe('a reduced context', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.string({ unit: fc.constantFrom('\u064a', '\u0651', '\u0654', '\u00a0', 'a', '\u200c') }),
    fc.constantFrom('İΑΣ', 'K', '\ud800', '12', '0000000000000001', '9'.repeat(17), 'تهران'),
    fc
      .tuple(fc.constantFrom('x', 'ن', ' ', '\u0651', '😀', 'Σ', 'İ'), fc.nat(4000))
      .map(([unit, count]) => `a${unit.repeat(count)}b`),
  );
  const value = fc.oneof(
    { weight: 4, arbitrary: text },
    fc.double(),
    fc.maxSafeNat(),
    fc.constantFrom(-0, Infinity, 1e21, 5e-324, 2 ** 53, null, true, undefined),
    anyJson,
  );
  const paths = [...FIELDS.map(([path]) => path), 'campaign.campaign_id', 'campaign.journey_id'];
  const parts = [...new Set(paths.map((path) => path.split('.')[0] ?? ''))];
  const keys = [...new Set(paths.map((path) => path.split('.').at(-1) ?? '')), '__proto__', 'id'];
  const context = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.dictionary(
        fc.constantFrom(...parts, 'screen', '__proto__', 'constructor'),
        fc.oneof({ weight: 4, arbitrary: fc.dictionary(fc.constantFrom(...keys), value) }, value),
      ),
    },
    anyJson,
  );

  test('gives the same columns, whatever it and the connection hold', () => {
    fc.assert(
      fc.property(context, fc.constantFrom(ANDROID, IPHONE, NO_USER_AGENT), (sent, agent) => {
        const copy = JSON.parse(JSON.stringify(reduceContext(sent))) as unknown;
        for (const ip of ['', '203.0.113.9'])
          expect(contextColumns(copy, { ip, agent })).toEqual(contextColumns(sent, { ip, agent }));
      }),
      { numRuns: 3000 },
    );
  });

  test('has a bound', () => {
    const long = Object.fromEntries(keys.map((key) => [key, '\n'.repeat(5000)]));
    const everything = { ...long, ...Object.fromEntries(parts.map((part) => [part, long])) };
    expect(JSON.stringify(reduceContext(everything)).length).toBeLessThan(24_000);
    for (const [path] of FIELDS) expect(reduceContext(at(path, 'v'))).toEqual(at(path, 'v'));
  });
});

import { gzipSync } from 'node:zlib';
import type { SeededRandom } from './seeded-random.ts';
import { objectOf, oddValue } from './json-text.ts';

/** One request as it will be sent; `kind` names what was done to it. */
export interface Input {
  kind: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

const SINGLE = ['track', 'identify', 'page', 'screen', 'alias'];
const FIELDS = [
  'event',
  'user_id',
  'anonymous_id',
  'previous_id',
  'message_id',
  'timestamp',
  'sent_at',
  'properties',
  'traits',
  'context',
  'type',
];
const CONTEXT = [
  'app',
  'device',
  'os',
  'network',
  'page',
  'campaign',
  'locale',
  'timezone',
  'session_id',
  'location',
  'ip',
  'library',
  'user_agent',
];

/**
 * The JSON text of an event; each field is as it should be, odd, or not there. Message ids never
 * meet by chance.
 */
function eventText(random: SeededRandom, oddness: number): string {
  const good: Record<string, string> = {
    event: '"bought"',
    user_id: `"u${random.below(50)}"`,
    anonymous_id: '"a"',
    previous_id: '"p"',
    message_id: `"${random.hex(24)}"`,
    timestamp: JSON.stringify(new Date(Date.now() - random.below(86_400_000)).toISOString()),
    sent_at: JSON.stringify(new Date().toISOString()),
    properties: '{"price":5,"quantity":2,"title":"کفش"}',
    traits: '{"city":"تهران","phone":"09123456789"}',
    context: `{${CONTEXT.filter(() => random.chance(0.2))
      .map((name) => `"${name}":${oddValue(random)}`)
      .join(',')}}`,
    type: `"${random.pick(SINGLE)}"`,
  };
  const fields = FIELDS.flatMap((name) => {
    if (random.chance(oddness)) return [`"${name}":${oddField(random, name)}`];
    return random.chance(0.8) || name === 'user_id' || name === 'type' || name === 'event'
      ? [`"${name}":${good[name] ?? 'null'}`]
      : [];
  });
  if (random.chance(0.05)) fields.push(random.pick(fields));
  return `{${fields.join(',')}}`;
}

function envelope(random: SeededRandom, oddness: number): Pick<Input, 'path' | 'body'> {
  if (random.chance(0.6))
    return { path: `/v1/${random.pick(SINGLE)}`, body: Buffer.from(eventText(random, oddness)) };
  const size = random.chance(0.02) ? 400 + random.below(120) : random.below(6);
  const items = Array.from({ length: size }, () =>
    random.chance(0.02) ? oddValue(random) : eventText(random, oddness),
  );
  const common = random.chance(0.2)
    ? `,"context":${random.chance(0.5) ? '{"locale":"fa"}' : oddValue(random)},"sent_at":${random.chance(0.8) ? 'null' : oddValue(random)}`
    : '';
  return {
    path: '/v1/batch',
    body: Buffer.from(
      `{"batch":${random.chance(0.03) ? oddValue(random) : `[${items.join(',')}]`}${common}}`,
    ),
  };
}

/**
 * A message id is odd and still unlike all others: a duplicate of a single event reads like a first
 * delivery, and would be missed in the count.
 */
function oddField(random: SeededRandom, name: string): string {
  if (name === 'properties' || name === 'traits') return objectOf(random, random.below(300));
  if (name !== 'message_id') return oddValue(random);
  const id = random.hex(24);
  return random.pick([
    'null',
    '""',
    '7',
    '[]',
    `"${id}\\ud800"`,
    `"\\u0000${id}"`,
    `"ي ${id} "`,
    `"${id}${'x'.repeat(random.below(300))}"`,
  ]);
}

/** Damages bytes: flips, cuts, doubles, and bytes that are no UTF-8. */
export function damage(random: SeededRandom, body: Buffer): Buffer {
  let bytes = Buffer.from(body);
  for (let times = 1 + random.below(3); times > 0 && bytes.length > 0; times--) {
    const at = random.below(bytes.length);
    const end = Math.min(bytes.length, at + random.below(20));
    const kind = random.below(6);
    if (kind === 0) bytes[at] = random.below(256);
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    else if (kind === 2)
      bytes = Buffer.concat([
        bytes.subarray(0, at),
        random.bytes(1 + random.below(8)),
        bytes.subarray(at),
      ]);
    else if (kind === 3) bytes = bytes.subarray(0, at);
    else if (kind === 4) bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    else
      bytes = Buffer.concat([
        bytes.subarray(0, at),
        random.pick([
          Buffer.of(0xed, 0xa0, 0x80),
          Buffer.of(0xc0, 0x80),
          Buffer.of(0xff),
          Buffer.of(0),
        ]),
        bytes.subarray(at),
      ]);
  }
  return bytes;
}

const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const SPACES = gzipSync(Buffer.alloc(5_242_881, ' '));

export function zipped(random: SeededRandom, body: Buffer): { kind: string; body: Buffer } {
  const whole = gzipSync(body, { level: 1 });
  const kind = random.below(100);
  if (kind < 40) return { kind: 'gzip', body: whole };
  if (kind < 60) return { kind: 'gzip, cut', body: whole.subarray(0, random.below(whole.length)) };
  if (kind < 75) return { kind: 'gzip, damaged', body: damage(random, whole) };
  if (kind < 85)
    return { kind: 'gzip, two members', body: Buffer.concat([whole, gzipSync(Buffer.from(' '))]) };
  if (kind < 90)
    return { kind: 'gzip, more behind it', body: Buffer.concat([whole, random.bytes(20)]) };
  if (kind < 95) return { kind: 'gzip that is none', body };
  return random.chance(0.2)
    ? { kind: 'gzip bomb', body: BOMB }
    : { kind: 'gzip over the limit', body: SPACES };
}

const ODD_HEADERS: readonly [string, string][] = [
  ['content-encoding', 'br'],
  ['content-encoding', 'gzip, gzip'],
  ['content-type', 'multipart/form-data; boundary='],
  ['content-type', '\u00ff;;=,"'],
  ['x-forwarded-for', '1.1.1.1, ::1, unknown, 999.999.999.999'],
  ['expect', '100-continue'],
  ['user-agent', 'x'.repeat(6000)],
  ['user-agent', '\u00d9\u00be\u00d8\u00b1'],
  ['origin', '\u0080\u00ff'],
  ['cookie', 'a='.repeat(2000)],
  ['accept-encoding', 'gzip;q=0, *;q=-1'],
  ['range', 'bytes=5-1'],
  ['if-match', '*'],
];

/**
 * A request of many kinds. The same random give the same requests, apart from the times in them.
 */
export function fuzzInput(random: SeededRandom): Input {
  const oddness = random.pick([0, 0, 0.03, 0.1, 0.6]);
  const { path, body } = envelope(random, oddness);
  const headers = Object.fromEntries(random.chance(0.15) ? [random.pick(ODD_HEADERS)] : []);
  const kind = oddness === 0 ? 'plain' : 'odd values';
  const roll = random.below(1000);
  if (roll < 200) return { kind: 'damaged bytes', path, headers, body: damage(random, body) };
  if (roll < 400)
    return {
      path,
      headers: { 'content-encoding': random.pick(['gzip', 'GZIP', 'x-gzip']) },
      ...zipped(random, body),
    };
  if (roll < 410)
    return { kind: 'very deep', path: '/v1/track', headers, body: Buffer.from(deep(random)) };
  if (roll < 412)
    return {
      kind: 'oversized',
      path,
      headers,
      body: Buffer.concat([body, Buffer.alloc(5_242_881, ' ')]),
    };
  if (roll < 430)
    return {
      kind: 'other paths',
      path: random.pick([
        '/v1/',
        '/v1/%00',
        '/v1/track/../batch',
        '/v1/track;x',
        '/v1/%ff',
        '//v1/track',
        '/e/x',
        '/s/',
      ]),
      headers,
      body,
    };
  if (roll < 440)
    return {
      kind: 'odd query',
      path: `${path}?${random.pick(['write_key=', 'write_key=%', 'write_key=%00&write_key=x', '%', '&&&=&'])}`,
      headers,
      body,
    };
  return { kind, path, headers, body };
}

function deep(random: SeededRandom): string {
  const depth = random.pick([10_000, 100_000, 500_000]);
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
  ] as const);
  return `{"event":"deep","user_id":"u","message_id":"${random.hex(24)}","properties":{"deep":${open.repeat(depth)}1${close.repeat(depth)}}}`;
}

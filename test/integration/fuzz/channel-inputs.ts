import { createHmac } from 'node:crypto';
import { damage, zipped } from './bodies.ts';
import { oddValue } from './json-text.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What the inputs of one account are made of. */
export interface ChannelFixtures {
  writeKey: string;
  inboxSecret: string;
  campaignId: number;
  /** Mails that mail systems send, whole. */
  mails: readonly Buffer[];
  /** Paths with valid tokens, those of other purposes and of unknown messages among them. */
  pages: readonly string[];
  bounces: readonly string[];
}

export interface ChannelInput {
  kind: string;
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

type Fields = Record<string, (random: SeededRandom) => string>;

const text =
  (...values: string[]) =>
  (random: SeededRandom) =>
    JSON.stringify(random.pick(values));
/** Ids at the edges of what is allowed, and beyond. */
const id = text(
  ...['u1', 'u2', 'سارا', '😀', ' ', 'a\u0000b', 'a\\b', 'a\\0b', '\ud800', '__proto__'],
  ...['x'.repeat(256), 'x'.repeat(257), 'ی'.repeat(128), 'ی'.repeat(129)],
);
const POINT = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)]).toString('base64url');
const SUBSCRIPTION = `{"endpoint":"https://push.example/1","keys":{"p256dh":"${POINT}","auth":"${'A'.repeat(22)}"}}`;
const PLATFORMS = text('android', 'ios', 'web', 'huawei', 'bale', 'eitaa', 'rubika', 'toString');

/** The bodies of the routes that read JSON, each field as it should be. */
const JSON_ROUTES: Readonly<Record<string, Fields>> = {
  '/v1/devices': {
    ...{ device_id: id, user_id: id, anonymous_id: id, platform: PLATFORMS },
    push_token: text('t1', 't2', '\u0000', 't'.repeat(4096), 't'.repeat(4097)),
    push_provider: text('fcm', 'apns', 'hms', 'constructor'),
    ...{ model: text('م'.repeat(100)), locale: text('fa'), timezone: text('Asia/Tehran') },
  },
  '/v1/devices/unregister': { device_id: id },
  '/v1/webpush/subscribe': {
    user_id: id,
    subscription: (random) =>
      random.chance(0.7)
        ? SUBSCRIPTION
        : `{"endpoint":${oddValue(random)},"keys":{"p256dh":${oddValue(random)},"auth":"AA=="}}`,
  },
  '/v1/webpush/unsubscribe': { endpoint: text('https://push.example/1', 'x', 'e'.repeat(2049)) },
  '/v1/messenger/link': { user_id: id, platform: PLATFORMS, chat_id: chatId },
  '/v1/messenger/unlink': { user_id: id, platform: PLATFORMS, chat_id: chatId },
  '/v1/inbox': {
    ...{ user_id: id, limit: (random) => String(random.below(200) - 5) },
    read: (random) => `[${id(random)},${oddValue(random)}]`,
    read_all: (random) => random.pick(['true', 'false', '1', 'null']),
    user_token: text('a.b.c', 'eyJhbGciOiJub25lIn0.e30.'),
  },
  '/v1/onsite/event': {
    ...{ user_id: id, anonymous_id: id, message_id: uniqueId },
    action: text('shown', 'clicked', 'dismissed', 'submitted', 'seen'),
  },
  '/v1/onsite/response': {
    ...{ user_id: id, anonymous_id: id, message_id: uniqueId },
    answers: (random) =>
      random.chance(0.6)
        ? `{"score":${random.below(8)},"comment":${id(random)}}`
        : `{"score":${oddValue(random)},"comment":${oddValue(random)},"__proto__":1}`,
  },
};

function chatId(random: SeededRandom): string {
  return random.pick(['"c1"', '12345', '-1', '1.5', '9007199254740993', '""']);
}

function uniqueId(random: SeededRandom): string {
  return `"${random.hex(24)}"`;
}

/** A request of many kinds to a channel route; the same random give the same requests. */
export function channelInput(random: SeededRandom, fixtures: ChannelFixtures): ChannelInput {
  const roll = random.below(100);
  if (roll < 60) return jsonInput(random, fixtures);
  if (roll < 70) return listInput(random, fixtures);
  return roll < 85 ? pageInput(random, fixtures) : bounceInput(random, fixtures);
}

function jsonInput(random: SeededRandom, fixtures: ChannelFixtures): ChannelInput {
  const path = random.pick(Object.keys(JSON_ROUTES));
  const oddness = random.pick([0, 0, 0.1, 0.5]);
  const fields = { ...JSON_ROUTES[path] };
  if (path.startsWith('/v1/onsite'))
    fields['campaign_id'] = () => (random.chance(0.8) ? String(fixtures.campaignId) : '7');
  const user = id(random);
  if (path === '/v1/inbox') {
    const hmac = createHmac('sha256', fixtures.inboxSecret).update(JSON.parse(user) as string);
    const hash = hmac.digest('hex');
    fields['user_id'] = () => user;
    fields['user_hash'] = () => `"${hash}"`;
  }
  const members = Object.entries(fields).flatMap(([name, good]) => {
    if (random.chance(oddness)) return [`"${name}":${oddValue(random)}`];
    return random.chance(0.9) ? [`"${name}":${good(random)}`] : [];
  });
  const body = Buffer.from(random.chance(0.05) ? oddValue(random) : `{${members.join(',')}}`);
  const headers = { 'x-service-key': fixtures.writeKey };
  const input = { method: 'POST', path, headers, body } as const;
  const roll = random.below(10);
  if (roll === 0) return { kind: `${path}, damaged`, ...input, body: damage(random, body) };
  if (roll === 1) {
    const { kind, body: packed } = zipped(random, body);
    const encoded = { ...headers, 'content-encoding': 'gzip' };
    return { kind: `${path}, ${kind}`, ...input, headers: encoded, body: packed };
  }
  return { kind: path, ...input };
}

function listInput(random: SeededRandom, { writeKey }: ChannelFixtures): ChannelInput {
  const value = () =>
    random.pick([
      ...['u1', '%00', '%ff', '%', '+', '%D8%B3', 'x'.repeat(300), '', '&url=&url=', '#'],
      ...['https%3A%2F%2Fshop.ir%2Fcart', 'a'.repeat(7000)],
    ]);
  const query = ['url', 'user_id', 'anonymous_id', 'x']
    .filter(() => random.chance(0.8))
    .map((name) => `${name}=${value()}`)
    .join('&');
  const path = `/v1/onsite?write_key=${writeKey}&${query}`;
  return { kind: '/v1/onsite', method: 'GET', path, headers: {}, body: Buffer.alloc(0) };
}

const FORMS = [
  ...['', 'confirm=1', 'List-Unsubscribe=One-Click', 'shown=email:subscribed&on=email'],
  ...['shown=email:unsubscribed&on=email', 'shown=sms:subscribed&shown=x:y&on=constructor'],
  ...['shown=email:%00&on=%ff', 'a='.repeat(2000), 'x'.repeat(70_000), '{"shown":"email"}'],
];

/** The pages of messages: a token is valid, damaged or of nobody. */
function pageInput(random: SeededRandom, { pages }: ChannelFixtures): ChannelInput {
  const path = random.chance(0.7) ? random.pick(pages) : damagedPath(random, random.pick(pages));
  const isMultipart = random.chance(0.2);
  const type = isMultipart
    ? 'multipart/form-data; boundary=b'
    : 'application/x-www-form-urlencoded';
  const form = isMultipart
    ? `--b\r\nContent-Disposition: form-data; name="${random.pick(['shown', 'on', '"'])}"\r\n\r\nemail\r\n--b--`
    : random.pick(FORMS);
  const body = Buffer.from(form);
  const isRead = random.chance(0.4);
  return {
    kind: path.slice(0, 4),
    method: isRead ? 'GET' : 'POST',
    path,
    headers: isRead ? {} : { 'content-type': type },
    body: isRead ? Buffer.alloc(0) : random.chance(0.2) ? damage(random, body) : body,
  };
}

/** Still a path that a client of HTTP can send. */
function damagedPath(random: SeededRandom, path: string): string {
  const at = 5 + random.below(path.length - 5);
  const put = random.pick(['', 'A', 'a', '-', '%00', '%', '=', '..', 'x'.repeat(3000)]);
  return `${path.slice(0, at)}${put}${path.slice(at + random.below(3))}`;
}

function bounceInput(random: SeededRandom, { bounces, mails }: ChannelFixtures): ChannelInput {
  const path = random.chance(0.8)
    ? random.pick(bounces)
    : damagedPath(random, random.pick(bounces));
  const mail = random.pick(mails);
  const roll = random.below(10);
  const odd = () =>
    random.pick([
      random.bytes(random.below(3000)),
      Buffer.from(
        `Content-Type: multipart/report; boundary="${'b'.repeat(random.below(3000))}"\n\n`,
      ),
      Buffer.from(nestedMail(random.pick([10, 1000, 20_000]))),
      Buffer.from(`Subject: ${'=?utf-8?q?=D8?='.repeat(random.below(5000))}\n\nx`),
      Buffer.from('Status: 5.1.1\n'.repeat(random.below(20_000))),
      Buffer.alloc(1_048_577, 'x'),
    ]);
  const body = roll < 3 ? mail : roll < 7 ? damage(random, mail) : odd();
  return { kind: '/v1/bounce', method: 'POST', path, headers: {}, body };
}

/** Parts in parts. */
function nestedMail(depth: number): string {
  const part = (at: number) => `Content-Type: multipart/mixed; boundary="${at}"\n\n--${at}\n`;
  return Array.from({ length: depth }, (_, at) => part(at)).join('');
}

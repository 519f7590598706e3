import { createECDH, generateKeyPairSync, randomBytes } from 'node:crypto';
import {
  http2Receiver,
  respond,
  type Http2Receiver,
  type ReceivedPost,
} from '../../../platform/http2/testing/receivers.ts';
import { atEnd } from '../../../platform/outbound/receivers.ts';
import type { Channel } from '../../../events/channels/channel-change.ts';
import type { Provider, ProviderAnswer, ProviderMessage, Target } from '../provider.ts';
import { openProvider } from '../registry.ts';
import { generateVapidKeys } from '../webpush/vapid-keys.ts';
import type { AnswerRow } from './answer-table.ts';
import { messageTo, providerDeps } from './provider-deps.ts';

/** What the answer to a message has besides its status. */
interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
}

/** A push service, and what a test needs to reach it. */
export interface PushService {
  name: 'fcm' | 'apns' | 'webpush';
  channel: Channel;
  secret: string;
  config: (base: string) => Record<string, unknown>;
  /** Another one each time. */
  target: (base: string) => Target;
  answer: (row: AnswerRow) => Answer;
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const RSA_PUBLIC = rsa.publicKey;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const APNS_PUBLIC = ec.publicKey;
export const VAPID = generateVapidKeys();
/** When APNs says that tokens ended, ms since the epoch. */
export const ENDED_AT = 1_763_700_000_000;

export function serviceAccount(port: number): string {
  return JSON.stringify({
    type: 'service_account',
    project_id: 'shop-1',
    private_key_id: 'key1',
    private_key: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'sender@shop-1.iam.gserviceaccount.com',
    token_uri: `https://push.example:${port}/token`,
  });
}

const FCM_CODES =
  /^(INVALID_ARGUMENT|THIRD_PARTY_AUTH_ERROR|SENDER_ID_MISMATCH|UNREGISTERED|QUOTA_EXCEEDED|INTERNAL|UNAVAILABLE)/;

function fcmError({ status, code }: AnswerRow): string {
  const [errorCode] = FCM_CODES.exec(code) ?? [];
  const type = (name: string) => ({ '@type': `type.googleapis.com/${name}` });
  const details = [
    ...(errorCode === undefined ? [] : [{ ...type('google.firebase.fcm.v1.FcmError'), errorCode }]),
    ...(code.includes('of token')
      ? [{ ...type('google.rpc.BadRequest'), fieldViolations: [{ field: 'message.token' }] }]
      : []),
  ];
  const message = code.includes('too big') ? 'Android message is too big' : `it was ${code}`;
  return JSON.stringify({ error: { code: status, message, status: code, details } });
}

function headersOf({ status, code }: AnswerRow): Record<string, string> {
  return {
    ...(code.includes('Retry-After') ? { 'retry-after': '7' } : {}),
    ...(status === 307 ? { location: 'https://push.example/elsewhere' } : {}),
  };
}

export const FCM: PushService = {
  ...{ name: 'fcm', channel: 'push', secret: '' },
  config: (url) => ({ project_id: 'shop-1', url }),
  target: () => ({ ...device(), provider: 'fcm' }),
  answer: (row) => ({
    ...{ status: row.status, headers: headersOf(row) },
    body: row.status === 200 ? '{"name":"projects/shop-1/messages/1"}' : fcmError(row),
  }),
};

export const APNS: PushService = {
  ...{ name: 'apns', channel: 'push' },
  secret: ec.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  config: (url) => ({ team_id: 'TEAM123456', key_id: 'KEY1234567', topic: 'ir.shop.app', url }),
  target: () => ({ ...device(), provider: 'apns' }),
  answer: (row) => {
    const [reason] = row.code.split(' ');
    const body = row.status === 200 ? '' : JSON.stringify({ reason, timestamp: ENDED_AT });
    return { status: row.status, headers: headersOf(row), body };
  },
};

export const WEB_PUSH: PushService = {
  ...{ name: 'webpush', channel: 'web', secret: VAPID.privateKey },
  config: () => ({ subject: 'mailto:push@shop.example' }),
  target: (base) => browser(`${base}/push/${randomBytes(6).toString('hex')}`).target,
  answer: (row) => ({ status: row.status, headers: headersOf(row), body: 'why' }),
};

function device(): Omit<Target & { kind: 'device' }, 'provider'> {
  return { kind: 'device', deviceId: 'd1', token: randomBytes(32).toString('hex') };
}

/** A browser that subscribed, with the keys that only it has. */
export function browser(endpoint: string) {
  const ecdh = createECDH('prime256v1');
  ecdh.generateKeys();
  const auth = randomBytes(16).toString('base64url');
  const p256dh = ecdh.getPublicKey('base64url');
  const target: Target & { kind: 'browser' } = { kind: 'browser', endpoint, p256dh, auth };
  return { target, ecdh, auth };
}

export interface RunningService {
  receiver: Http2Receiver;
  base: string;
  /** Requests for access tokens. */
  tokenRequests: ReceivedPost[];
  messages: ReceivedPost[];
  /** Opens a provider that sends to `at`: the service, unless it says otherwise. */
  open: (options?: OpenOptions) => Provider;
  /** By one provider, to a target of its own unless the message says otherwise. */
  send: (message?: Partial<ProviderMessage>, signal?: AbortSignal) => Promise<ProviderAnswer>;
}

interface OpenOptions {
  at?: string;
  now?: () => number;
  allow?: string[];
}

const ACCEPTED: Answer = { status: 200, body: '{"name":"projects/shop-1/messages/1"}' };

/** The service as a server of this machine, over HTTP/2, and a provider that sends to it. */
export async function startService(
  service: PushService,
  answer: (request: ReceivedPost, count: number) => void = (one) => respond(one, ACCEPTED),
  options: OpenOptions = {},
): Promise<RunningService> {
  const tokenRequests: ReceivedPost[] = [];
  const messages: ReceivedPost[] = [];
  const receiver = await http2Receiver((one) => {
    if (one.path !== '/token') return answer(one, messages.push(one));
    const token = `token-${tokenRequests.push(one)}`;
    respond(one, { body: JSON.stringify({ access_token: token, expires_in: 3600 }) });
  });
  const base = `https://push.example:${receiver.port}`;
  const open = ({ at = base, now, allow = ['push.example'] }: OpenOptions = options): Provider => {
    const opened = openProvider({
      ...{ channel: service.channel, provider: service.name, accountId: 1 },
      config: service.config(at),
      secret: service.secret === '' ? serviceAccount(receiver.port) : service.secret,
      deps: providerDeps({ allow, ...(now ? { now } : {}) }),
    });
    atEnd(() => void opened.close());
    return opened;
  };
  const provider = open();
  return {
    ...{ receiver, base, tokenRequests, messages, open },
    send: (message = {}, signal = NEVER) =>
      provider.send({ ...messageTo(service.target(base)), ...message }, { signal }),
  };
}

export const NEVER = new AbortController().signal;

import { randomBytes, randomUUID } from 'node:crypto';
import { jsonObject, parseJson } from '../../../events/json.ts';
import { BoundedMap } from '../../../platform/bounded-map.ts';
import { decryptPush, newBrowserKeys, type BrowserKeys } from './decrypt-push.ts';
import {
  isDead,
  jsonAnswer,
  shownHeaders,
  type Receiver,
  type SandboxMessage,
  type SandboxRequest,
} from './receiver.ts';
import { keyOfPoint, readToken } from './read-token.ts';

const MAX_BODY_BYTES = 4096;
const MAX_SUBSCRIPTIONS = 1000;
const DAY_S = 86_400;
const SHOWN = ['ttl', 'topic', 'urgency', 'content-encoding'];

/**
 * A push service for browsers. `POST /subscriptions` makes a subscription whose messages it can
 * decrypt: `{endpoint, keys: {p256dh, auth}}`. Messages are taken at `/push/{id}` under any id;
 * those of other subscriptions are listed with their bytes as `data.body`, in base64url. Answers as
 * Mozilla's autopush does.
 * @param options.now ms since the epoch
 * @param options.prefix the path under which it is mounted, for example `/webpush`
 */
export function webPushReceiver(options: { now: () => number; prefix: string }): Receiver {
  const subscriptions = new BoundedMap<string, BrowserKeys>(MAX_SUBSCRIPTIONS);

  const subscribe = ({ origin }: SandboxRequest) => {
    const [id, auth] = [randomUUID(), randomBytes(16)];
    const keys = newBrowserKeys(auth);
    subscriptions.set(id, keys);
    return jsonAnswer(201, {
      endpoint: `${origin}${options.prefix}/push/${id}`,
      keys: { p256dh: keys.ecdh.getPublicKey('base64url'), auth: auth.toString('base64url') },
    });
  };

  return {
    handle(request) {
      const { method, path, origin } = request;
      if (method === 'POST' && path === '/subscriptions') return subscribe(request);
      const [, id] = /^\/push\/([^/?]+)/.exec(path) ?? [];
      if (method !== 'POST' || id === undefined) return refusal(404, 'there is no such path');
      const problem = problemOf(request, options.now());
      if (problem) return problem;
      if (isDead(id)) return refusal(410, 'the subscription has ended');
      const endpoint = `${origin}${options.prefix}/push/${id}`;
      const message = messageOf(request, { endpoint, keys: subscriptions.get(id) });
      const location = `${origin}${options.prefix}/m/${randomUUID()}`;
      return { answer: { status: 201, headers: { location } }, message };
    },
  };
}

type Answered = ReturnType<Receiver['handle']>;

function refusal(status: number, message: string): Answered {
  return jsonAnswer(status, { code: status, message });
}

function problemOf(request: SandboxRequest, now: number): Answered | undefined {
  const { headers, body } = request;
  if (!/^\d+$/.test(headers['ttl'] ?? '')) return refusal(400, 'TTL is missing');
  if (!/^[\w-]{0,32}$/.test(headers['topic'] ?? '')) return refusal(400, 'Topic is not valid');
  if (body.length > 0 && headers['content-encoding'] !== 'aes128gcm')
    return refusal(400, 'Content-Encoding is not aes128gcm');
  const reason = vapidProblem(request, now);
  if (reason !== undefined) return refusal(401, reason);
  return body.length > MAX_BODY_BYTES ? refusal(413, 'the message is too large') : undefined;
}

/** Why the sender is not known (RFC 8292). */
function vapidProblem({ headers, origin }: SandboxRequest, now: number): string | undefined {
  const authorization = headers['authorization'] ?? '';
  const [, t = '', k = ''] = /^vapid t=([^,\s]+),\s*k=([^,\s]+)$/.exec(authorization) ?? [];
  const [token, key] = [readToken(t), keyOfPoint(k)];
  if (token?.header['alg'] !== 'ES256' || !key) return 'the token or the key of VAPID is missing';
  if (!token.isSignedBy(key)) return 'the token of VAPID was signed with another key';
  const { aud, exp, sub } = token.claims;
  if (aud !== origin) return 'the token of VAPID is for another origin';
  if (typeof sub !== 'string' || !/^(mailto:|https:)/.test(sub)) return 'sub is missing';
  const seconds = typeof exp === 'number' ? exp - now / 1000 : NaN;
  return seconds > 0 && seconds <= DAY_S ? undefined : 'exp is not within the next 24 hours';
}

function messageOf(
  request: SandboxRequest,
  { endpoint, keys }: { endpoint: string; keys: BrowserKeys | undefined },
): SandboxMessage {
  const { body } = request;
  const text = keys && decryptPush(body, keys);
  const json = text === undefined ? undefined : jsonObject(parseJson(Buffer.from(text)));
  const shown = (name: string) => (typeof json?.[name] === 'string' ? json[name] : '');
  return {
    ...{ channel: 'web', provider: 'webpush', to: endpoint, subject: '', html: '' },
    ...{ title: shown('title'), text: json ? shown('body') : (text ?? '') },
    data: json ? dataOf(json) : { body: body.toString('base64url') },
    headers: shownHeaders(request, SHOWN),
  };
}

/** What the service worker got besides title and text. */
function dataOf(json: Record<string, unknown>): Record<string, unknown> {
  const more = Object.entries(json).filter(([key]) => !['title', 'body', 'data'].includes(key));
  return { ...jsonObject(json['data']), ...Object.fromEntries(more) };
}

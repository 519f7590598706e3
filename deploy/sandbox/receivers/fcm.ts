import { randomBytes, randomUUID } from 'node:crypto';
import { isJsonObject, jsonObject, parseJson, type JsonObject } from '../../../events/json.ts';
import { BoundedMap } from '../../../platform/bounded-map.ts';
import {
  isDead,
  jsonAnswer,
  type Receiver,
  type SandboxMessage,
  type SandboxRequest,
} from './receiver.ts';
import { readToken } from './read-token.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const LIFETIME_S = 3600;
const MAX_TOKENS = 1000;
/** Of title, text and data. */
const MAX_BYTES = 4096;

/**
 * FCM: access tokens at `/token`, messages at `/v1/projects/{id}/messages:send`. It knows no
 * service account: it takes an assertion of any key.
 * @param options.now ms since the epoch
 */
export function fcmReceiver({ now }: { now: () => number }): Receiver {
  /** Access tokens and when they end, ms since the epoch. */
  const tokens = new BoundedMap<string, number>(MAX_TOKENS);
  const isKnown = (header = '') => (tokens.get(header.replace(/^Bearer /, '')) ?? 0) > now();

  const giveToken = (request: SandboxRequest) => {
    const form = new URLSearchParams(request.body.toString());
    const problem =
      form.get('grant_type') === GRANT
        ? assertionProblem(form.get('assertion') ?? '', now())
        : 'grant_type is not the one for assertions';
    if (problem !== undefined)
      return jsonAnswer(400, { error: 'invalid_grant', error_description: problem });
    const token = `ya29.${randomBytes(24).toString('base64url')}`;
    tokens.set(token, now() + LIFETIME_S * 1000);
    return jsonAnswer(200, { access_token: token, expires_in: LIFETIME_S, token_type: 'Bearer' });
  };

  return {
    handle(request) {
      if (request.method !== 'POST') return refusal(404, 'NOT_FOUND', 'there is no such path');
      if (request.path === '/token') return giveToken(request);
      const [, project] = /^\/v1\/projects\/([^/]+)\/messages:send$/.exec(request.path) ?? [];
      if (project === undefined) return refusal(404, 'NOT_FOUND', 'there is no such path');
      if (!isKnown(request.headers['authorization']))
        return refusal(401, 'UNAUTHENTICATED', 'the access token is not known, or has ended');
      return takeMessage(request.body, project);
    },
  };
}

function assertionProblem(assertion: string, now: number): string | undefined {
  const { header, claims } = readToken(assertion) ?? {};
  if (header?.['alg'] !== 'RS256' || !claims) return 'the assertion is not an RS256 token';
  const { iss, scope, iat, exp } = claims;
  if (typeof iss !== 'string' || scope !== SCOPE) return 'iss or scope is missing';
  const isTimely = typeof iat === 'number' && typeof exp === 'number' && exp - iat <= LIFETIME_S;
  return isTimely && exp * 1000 > now && iat * 1000 <= now + 60_000
    ? undefined
    : 'the assertion has to be short-lived and not from the future';
}

function takeMessage(body: Buffer, project: string): ReturnType<Receiver['handle']> {
  const message = jsonObject(jsonObject(parseJson(body))?.['message']);
  const token = message?.['token'];
  if (!message || typeof token !== 'string' || token === '')
    return refusal(400, 'INVALID_ARGUMENT', 'the message has no token');
  const data = jsonObject(message['data']) ?? {};
  if (!Object.values(data).every((value) => typeof value === 'string'))
    return refusal(400, 'INVALID_ARGUMENT', 'data has values that are not texts');
  const [title, text] = textsOf(message['notification']);
  const size = [title, text, ...Object.entries(data).flat()].join('');
  if (Buffer.byteLength(size) > MAX_BYTES)
    return refusal(400, 'INVALID_ARGUMENT', 'Message is too big');
  if (isDead(token)) return refusal(404, 'UNREGISTERED', 'Requested entity was not found.');
  const shown: SandboxMessage = {
    ...{ channel: 'push', provider: 'fcm', to: token, subject: '', title, text, html: '' },
    ...{ data, headers: {} },
  };
  const name = `projects/${project}/messages/${randomUUID()}`;
  return { ...jsonAnswer(200, { name }), message: shown };
}

function textsOf(notification: unknown): [title: string, text: string] {
  const { title, body } = isJsonObject(notification) ? notification : ({} as JsonObject);
  return [typeof title === 'string' ? title : '', typeof body === 'string' ? body : ''];
}

function refusal(code: number, status: string, message: string) {
  const type = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';
  const details = [{ '@type': type, errorCode: status }];
  return jsonAnswer(code, { error: { code, message, status, details } });
}

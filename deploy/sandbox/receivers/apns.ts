import { randomUUID } from 'node:crypto';
import { jsonObject, parseJson } from '../../../events/json.ts';
import {
  isDead,
  jsonAnswer,
  shownHeaders,
  type Receiver,
  type SandboxMessage,
  type SandboxRequest,
} from './receiver.ts';
import { readToken } from './read-token.ts';

const MAX_BYTES = 4096;
const TOKEN_MS = 3_600_000;
const SHOWN = [
  ...['apns-topic', 'apns-push-type', 'apns-priority', 'apns-expiration', 'apns-collapse-id'],
];

/**
 * APNs: messages at `/3/device/{token}`. It knows no key: it takes provider tokens of any key.
 * @param options.now ms since the epoch
 */
export function apnsReceiver({ now }: { now: () => number }): Receiver {
  return {
    handle(request) {
      const problem = problemOf(request, now());
      const id = request.headers['apns-id'] ?? randomUUID();
      if (problem) return withId(problem, id);
      const message = messageOf(request);
      return message
        ? { ...withId({ answer: { status: 200 } }, id), message }
        : withId(refusal(400, 'PayloadEmpty'), id);
    },
  };
}

type Answered = ReturnType<Receiver['handle']>;

function withId({ answer }: Answered, id: string): Answered {
  return { answer: { ...answer, headers: { 'apns-id': id } } };
}

function refusal(status: number, reason: string, more: object = {}): Answered {
  return jsonAnswer(status, { reason, ...more });
}

/** In the order in which APNs looks. */
function problemOf(
  { method, path, headers, body }: SandboxRequest,
  now: number,
): Answered | undefined {
  const [, token] = /^\/3\/device\/([^/]*)$/.exec(path) ?? [];
  if (token === undefined) return refusal(404, 'BadPath');
  if (method !== 'POST') return refusal(405, 'MethodNotAllowed');
  const reason = tokenProblem(headers['authorization'], now);
  if (reason !== undefined) return refusal(403, reason);
  if (!/^([0-9a-f]{2}){1,100}$/i.test(token)) return refusal(400, 'BadDeviceToken');
  if ((headers['apns-topic'] ?? '') === '') return refusal(400, 'MissingTopic');
  if (body.length > MAX_BYTES) return refusal(413, 'PayloadTooLarge');
  return isDead(token) ? refusal(410, 'Unregistered', { timestamp: now }) : undefined;
}

function tokenProblem(authorization: string | undefined, now: number): string | undefined {
  if (authorization === undefined) return 'MissingProviderToken';
  const { header, claims } = readToken(authorization.replace(/^bearer /i, '')) ?? {};
  const { iss, iat } = claims ?? {};
  if (header?.['alg'] !== 'ES256' || typeof header['kid'] !== 'string')
    return 'InvalidProviderToken';
  if (typeof iss !== 'string' || typeof iat !== 'number') return 'InvalidProviderToken';
  return Math.abs(now - iat * 1000) > TOKEN_MS ? 'ExpiredProviderToken' : undefined;
}

/** Undefined: the payload is not the one of a message. */
function messageOf(request: SandboxRequest): SandboxMessage | undefined {
  const json = jsonObject(parseJson(request.body));
  const aps = jsonObject(json?.['aps']);
  if (!json || !aps) return undefined;
  const { title, body } = jsonObject(aps['alert']) ?? {};
  return {
    ...{ channel: 'push', provider: 'apns', to: request.path.slice('/3/device/'.length) },
    ...{ subject: '', html: '' },
    title: typeof title === 'string' ? title : '',
    text: typeof body === 'string' ? body : '',
    data: Object.fromEntries(Object.entries(json).filter(([key]) => key !== 'aps')),
    headers: shownHeaders(request, SHOWN),
  };
}

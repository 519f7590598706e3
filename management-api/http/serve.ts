import type { IncomingMessage } from 'node:http';
import type { Answer } from '../errors/domain-error.ts';
import type { Services } from '../services.ts';
import { readJson } from './body.ts';
import { passGuards } from './guards.ts';
import type { PublicRequest } from './request.ts';
import type { Route } from './route.ts';

const NO_BYTES = Buffer.alloc(0);

/** Everything of a request but its body. */
export type RequestHead = Omit<PublicRequest, 'body' | 'rawBody'>;

/**
 * One request on its way through a route: guards, body, handler. Undefined: the client left before
 * it was read.
 */
export async function serve(options: {
  route: Route;
  head: RequestHead;
  message: IncomingMessage;
  services: Services;
}): Promise<Answer | undefined> {
  const { route, head, message, services } = options;
  const entry =
    route.auth === 'none'
      ? undefined
      : await passGuards({ route, headers: message.headers, ip: head.ip, now: head.now }, services);
  if (entry && !entry.ok) return entry;
  let body: unknown;
  let rawBody: Buffer = NO_BYTES;
  if (route.bodyLimit !== undefined) {
    const read = await readJson(message, route.bodyLimit);
    if (!read.ok)
      return read.reason === 'cut'
        ? undefined
        : { ok: false, error: route.malformed ?? { code: 'malformed_json' } };
    body = read.value;
    rawBody = read.bytes;
  }
  if (route.auth === 'none') return await route.handler({ ...head, body, rawBody }, services);
  if (!entry) throw new Error('a route with a key was entered without guards');
  return await route.handler({ ...head, body, rawBody, caller: entry.caller }, services);
}

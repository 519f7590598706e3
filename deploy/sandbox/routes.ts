import { CHANNELS } from '../../events/channels/channel-change.ts';
import { MAX_MESSAGES, type MessageFilter, type MessageStore } from './message-store.ts';
import { MAIL_POLICY, PAGE_POLICY, sandboxPage } from './page/page.ts';
import { apnsReceiver } from './receivers/apns.ts';
import { fcmReceiver } from './receivers/fcm.ts';
import { kavenegarReceiver } from './receivers/kavenegar.ts';
import { baleReceiver, eitaaReceiver, rubikaReceiver } from './receivers/messengers.ts';
import type { Receiver, SandboxAnswer, SandboxRequest } from './receivers/receiver.ts';
import { webPushReceiver } from './receivers/webpush.ts';

const DEFAULT_LIMIT = 100;
const HTML = 'text/html; charset=utf-8';

/** Answers every request to the sandbox. */
export type SandboxRoutes = (request: SandboxRequest) => SandboxAnswer;

/**
 * The page at `/`, the list at `/messages`, and each provider under its name.
 * @param options.now ms since the epoch
 */
export function sandboxRoutes(options: { store: MessageStore; now: () => number }): SandboxRoutes {
  const { store, now } = options;
  const receivers: Readonly<Record<string, Receiver>> = {
    fcm: fcmReceiver({ now }),
    apns: apnsReceiver({ now }),
    webpush: webPushReceiver({ now, prefix: '/webpush' }),
    kavenegar: kavenegarReceiver(),
    bale: baleReceiver(),
    eitaa: eitaaReceiver(),
    rubika: rubikaReceiver(),
  };
  return (request) => {
    const [, prefix = '', rest = ''] = /^\/([a-z]+)(\/.*)$/.exec(request.path) ?? [];
    const receiver = Object.hasOwn(receivers, prefix) ? receivers[prefix] : undefined;
    if (!receiver) return readerAnswer(store, request);
    const { answer, message } = receiver.handle({ ...request, path: rest });
    if (message) store.add(message, now());
    return answer;
  };
}

function readerAnswer(store: MessageStore, { method, path }: SandboxRequest): SandboxAnswer {
  if (method !== 'GET' && method !== 'HEAD') return problem(405, 'only GET is allowed here');
  const url = new URL(path, 'http://sandbox');
  const [, id] = /^\/messages\/(\d{1,15})\/html$/.exec(url.pathname) ?? [];
  if (id !== undefined) return mailOf(store, Number(id));
  if (url.pathname !== '/' && url.pathname !== '/messages')
    return problem(404, 'there is /, /messages, and a path for each provider');
  const filter = filterOf(url.searchParams);
  if (typeof filter === 'string') return problem(400, filter);
  const messages = store.list(filter);
  if (url.pathname === '/messages') {
    const listed = messages.map((message) => ({ ...message, id: undefined }));
    return { status: 200, body: JSON.stringify({ messages: listed }) };
  }
  const page = sandboxPage({ ...filter, messages, kept: store.size });
  return { status: 200, headers: headersOf(HTML, PAGE_POLICY), body: page };
}

function mailOf(store: MessageStore, id: number): SandboxAnswer {
  const html = store.find(id)?.html ?? '';
  return html === ''
    ? problem(404, 'this message is not kept any more, or has no HTML')
    : { status: 200, headers: headersOf(HTML, MAIL_POLICY), body: html };
}

/** A sentence when the query is wrong. */
function filterOf(query: URLSearchParams): MessageFilter | string {
  const given = (name: string) => {
    const value = query.get(name) ?? '';
    return value === '' ? undefined : value;
  };
  const channel = given('channel');
  if (channel !== undefined && !CHANNELS.some((one) => one === channel))
    return `there is no channel ${channel}: there are ${CHANNELS.join(', ')}`;
  const limit = given('limit') ?? String(DEFAULT_LIMIT);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_MESSAGES)
    return `limit is a whole number from 1 to ${MAX_MESSAGES}`;
  return { channel, to: given('to'), limit: Number(limit) };
}

function problem(status: number, error: string): SandboxAnswer {
  return { status, body: JSON.stringify({ error }) };
}

function headersOf(type: string, policy: string): Record<string, string> {
  return { 'Content-Type': type, 'Content-Security-Policy': policy };
}

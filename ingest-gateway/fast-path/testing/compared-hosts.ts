import type { FastifyInstance } from 'fastify';
import { connect, type AddressInfo } from 'node:net';
import type { SdkRequest } from '../../../ingest/request.ts';
import type { IngestResult, IngestSummary } from '../../../ingest/result.ts';
import { ClientClock } from '../../../platform/http/client-clock.ts';
import { Turns } from '../../../platform/http/turns.ts';
import { createLog } from '../../../platform/log.ts';
import type { Verification } from '../../auth/write-keys.ts';
import { BodyBudget } from '../../http/body.ts';
import { OpenConnections } from '../../http/connection-limit.ts';
import { CLIENT_LIMITS, createHost } from '../../http/host.ts';
import { eventRoutesByPath, ingestRoutes } from '../../http/routes.ts';
import { EventServer } from '../../http/serve-events.ts';
import { FastPath } from '../fast-path.ts';
import { MAX_BODY_BYTES, OF_PARENT, STREAM, type ByteStream } from './byte-streams.ts';

/** What one stream led to: the answers and the requests that reached the service. */
export interface Outcome {
  /** Without dates, random traces and interim answers; latin1. */
  answers: string;
  requests: readonly string[];
  end: 'ended' | 'reset' | 'open';
}

export interface ComparedHost {
  /** @param number of the stream, unique for the host */
  send: (stream: ByteStream, number: number) => Promise<Outcome>;
  port: number;
  connections: OpenConnections;
  /** How many requests were served without node:http. */
  fast: () => number;
  close: () => Promise<void>;
}

const SUMMARY: IngestSummary = {
  ...{ accepted: 1, duplicates: 0, rejected: 0 },
  ...{ warnings: [], errors: [] },
};
const RANDOM_TRACE = new RegExp(`\\r\\nX-Service-Trace: (?!${OF_PARENT})[0-9a-f]{16}\\r`, 'g');
const PROBE_TRACE = 'ab'.repeat(10);
const PROBE = `GET /v1/status HTTP/1.1\r\nHost: x\r\nX-Service-Trace: ${PROBE_TRACE}\r\n\r\n`;
/** How long a stream waits for the probe's answer before its FIN; the end, for the server's. */
const WAIT_MS = { probe: 40, end: 10_000 };

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function resultOf(body: string): Promise<IngestResult> {
  if (body.startsWith('slow')) await wait(2);
  if (body.startsWith('error')) throw new Error('the service failed');
  if (body.startsWith('quota')) return { outcome: 'failed', failure: { code: 'quota_trial_over' } };
  if (body.startsWith('malformed'))
    return { outcome: 'failed', failure: { code: 'malformed_json' } };
  const errors = Array.from({ length: body.startsWith('long') ? 500 : 1 }, (_, index) => ({
    ...{ index, reason: 'missing_identity' },
  }));
  return body.startsWith('warned') || body.startsWith('long')
    ? { outcome: 'accepted', summary: { ...SUMMARY, rejected: errors.length, errors } }
    : { outcome: 'accepted', summary: SUMMARY };
}

/** Keys name the stream that uses them. */
function verify(key: string): Verification | Promise<Verification> {
  const [, kind, stream] = /^(good|late)-(\d+)$/.exec(key) ?? [];
  const principal = { accountId: Number(stream), appId: 1, writeKeyId: 1 };
  if (kind === 'good') return principal;
  if (kind === 'late') return wait(2).then(() => principal);
  if (key === 'gone') return wait(2).then(() => 'invalid');
  return key === 'down' ? 'unverified' : 'invalid';
}

/** A host with a service that depends on the body alone. */
export async function openHost({
  hasFastPath,
  maxConnections = 10_000,
  clock = new ClientClock(),
}: {
  hasFastPath: boolean;
  maxConnections?: number;
  clock?: ClientClock;
}): Promise<ComparedHost> {
  const requests = new Map<number, string[]>();
  const note = (request: SdkRequest) => {
    const { principal, path, shape, type, ip, userAgent, origin, body, trace } = request;
    const facts = { path, shape, type, ip, userAgent, origin, body: body.toString('latin1') };
    const text = JSON.stringify({
      ...facts,
      trace: trace.length === 16 && trace !== OF_PARENT ? 'random' : trace,
    });
    requests.set(principal.accountId, [...(requests.get(principal.accountId) ?? []), text]);
    return resultOf(facts.body);
  };
  const bodies = { budget: new BodyBudget(1 << 30), maxBodyBytes: MAX_BODY_BYTES };
  const shared = { ...bodies, keys: { verify }, now: Date.now, onAnswered: () => undefined };
  const events = new EventServer({
    ...{ ...shared, service: { accept: note }, maxRequests: 10_000, trusted: undefined },
    log: createLog({ part: 'test', level: 'silent' }),
  });
  const routes = ingestRoutes({ version: '1', now: () => new Date(0) });
  const connections = new OpenConnections(maxConnections);
  let fast = 0;
  const submit: EventServer['submit'] = (request) => {
    fast++;
    return events.submit(request);
  };
  const fastPath = new FastPath({
    ...{ ...shared, clock, limits: CLIENT_LIMITS, routes: eventRoutesByPath(routes) },
    events: { submit, isClosing: false },
  });
  const host: FastifyInstance = createHost({
    ...{ routes, events, clock, onAnswered: () => undefined },
    connections,
    turns: new Turns({ perRound: 2 }),
    ...(hasFastPath ? { fastPath } : {}),
  });
  await host.listen({ host: '127.0.0.1', port: 0 });
  const { port } = host.server.address() as AddressInfo;
  return {
    send: async (stream, number) => {
      const { text, end } = await exchange(port, stream, number);
      const sent = requests.get(number) ?? [];
      requests.delete(number);
      return { answers: withoutChance(text), requests: sent.sort(), end };
    },
    ...{ port, connections },
    fast: () => fast,
    close: () => host.close(),
  };
}

async function exchange(
  port: number,
  { pieces, isProbed }: ByteStream,
  number: number,
): Promise<{ text: string; end: Outcome['end'] }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  const digits = String(number).padStart(STREAM.length, '0');
  let text = '';
  const ended = new Promise<Outcome['end']>((resolve) => {
    socket.on('end', () => resolve('ended'));
    socket.on('error', () => resolve('reset'));
  });
  const probed = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (text.includes(PROBE_TRACE)) resolve();
    });
  });
  for (const piece of isProbed ? [...pieces, PROBE] : pieces) {
    socket.write(piece.replaceAll(STREAM, digits), 'latin1');
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (isProbed) await Promise.race([probed, ended, wait(WAIT_MS.probe)]);
  socket.end();
  const timer = new AbortController();
  const end = await Promise.race([
    ended,
    new Promise<'open'>((resolve) => {
      const timeout = setTimeout(() => resolve('open'), WAIT_MS.end);
      timer.signal.addEventListener('abort', () => clearTimeout(timeout));
    }),
  ]);
  timer.abort();
  socket.destroy();
  return { text, end };
}

/** An interim answer is left out when the final one comes before it (RFC 9110, 10.1.1). */
function withoutChance(text: string): string {
  return text
    .replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '')
    .replaceAll(/\r\nDate: [^\r]*/g, '\r\nDate: now')
    .replaceAll(RANDOM_TRACE, '\r\nX-Service-Trace: random\r');
}

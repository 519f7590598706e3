import type { FastifyInstance } from 'fastify';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { IngestService } from '../../ingest/accept.ts';
import type { IngestResult } from '../../ingest/result.ts';
import { ClientClock } from '../../platform/http/client-clock.ts';
import { Turns } from '../../platform/http/turns.ts';
import { createLog } from '../../platform/log.ts';
import { setTracing } from '../../platform/tracing/spans.ts';
import { recordedTracing } from '../../platform/tracing/testing/recorded-tracing.ts';
import type { Verification } from '../auth/write-keys.ts';
import { FastPath } from '../fast-path/fast-path.ts';
import { OpenConnections } from './connection-limit.ts';
import { CLIENT_LIMITS, createHost } from './host.ts';
import { BodyBudget } from './body.ts';
import { eventRoutesByPath, type Route } from './routes.ts';
import { EventServer } from './serve-events.ts';

let host: FastifyInstance;
let sockets: Socket[] = [];

interface Options {
  accept?: IngestService['accept'];
  verify?: () => Verification | Promise<Verification>;
  budget?: BodyBudget;
  maxRequests?: number;
}

const ACCEPTED: IngestResult = {
  outcome: 'accepted',
  summary: { accepted: 1, duplicates: 0, rejected: 0, warnings: [], errors: [] },
};

async function listening(options: Options = {}): Promise<{
  events: EventServer;
  budget: BodyBudget;
  answers: [path: string, status: number][];
  port: number;
}> {
  const budget = options.budget ?? new BodyBudget(1 << 20);
  const shared = {
    keys: { verify: options.verify ?? (() => ({ accountId: 1, appId: 1, writeKeyId: 1 })) },
    ...{ maxBodyBytes: 1000, budget, now: Date.now },
  };
  const answers: [path: string, status: number][] = [];
  const onAnswered = (path: string, status: number, milliseconds: number) => {
    expect(milliseconds).toBeGreaterThanOrEqual(0);
    answers.push([path, status]);
  };
  const events = new EventServer({
    ...shared,
    service: { accept: options.accept ?? (() => Promise.resolve(ACCEPTED)) },
    ...{
      maxRequests: options.maxRequests ?? 100,
      trusted: undefined,
      log: createLog({ part: 'test', level: 'silent' }),
    },
    onAnswered,
  });
  const route: Route = {
    method: 'POST',
    path: '/v1/track',
    auth: 'write_key',
    cors: true,
    shape: 'single',
    type: 'track',
  };
  const clock = new ClientClock();
  const fastPath = new FastPath({
    ...{ ...shared, events },
    routes: eventRoutesByPath([route]),
    limits: CLIENT_LIMITS,
    clock,
    onAnswered,
  });
  host = createHost({
    routes: [route],
    events,
    fastPath,
    clock,
    connections: new OpenConnections(100),
    turns: new Turns({ perRound: 2 }),
    onAnswered,
  });
  await host.listen({ host: '127.0.0.1', port: 0 });
  return { events, budget, answers, port: (host.server.address() as AddressInfo).port };
}

/** A connection, and all that came on it. */
function open(port: number): {
  socket: Socket;
  received: () => string;
  until: (text: string) => Promise<void>;
} {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString()));
  socket.on('error', () => undefined);
  const until = async (text: string) => {
    for (let waited = 0; !received.includes(text) && waited < 3000; waited += 5)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(received).toContain(text);
  };
  return { socket, received: () => received, until };
}

function head(length: number): string {
  return `POST /v1/track HTTP/1.1\r\nHost: x\r\nX-Service-Key: k\r\nContent-Length: ${length}\r\n\r\n`;
}

async function eventually(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 3000; waited += 5)
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await host.close();
});

describe('the host', () => {
  it('releases the budget of a client that leaves in the middle of its body', async () => {
    const { events, budget, port } = await listening();
    const { socket } = open(port);
    socket.write(`${head(500)}${'x'.repeat(100)}`);
    await eventually(() => budget.bytes === 100);
    socket.destroy();
    await eventually(() => budget.bytes === 0 && events.active === 0);
  });

  it('serves pipelined requests of one connection', async () => {
    const { port } = await listening();
    const { socket, received, until } = open(port);
    socket.write(`${head(1)}x`.repeat(3));
    await eventually(() => received().split('HTTP/1.1 200').length === 4);
    socket.write(`${head(2000)}${'x'.repeat(2000)}${head(1)}x`);
    await until('HTTP/1.1 413');
    await eventually(() => received().split('HTTP/1.1 200').length === 5);
  });

  it.each<[string, IngestService['accept']]>([
    ['rejects', () => Promise.reject(new Error('a defect'))],
    [
      'throws',
      () => {
        throw new Error('a defect');
      },
    ],
  ])('answers 503, never 500, when acceptance %s unexpectedly', async (_, accept) => {
    const { budget, events, port } = await listening({ accept });
    const { socket, until } = open(port);
    socket.write(`${head(1)}x`);
    await until('HTTP/1.1 503');
    await until('{"status":"error","message":"temporarily unavailable, please retry"}');
    expect(budget.bytes).toBe(0);
    expect(events.active).toBe(0);
  });

  it('answers 200 to durable events whose span cannot be ended', async () => {
    const { tracing } = recordedTracing();
    const end = () => {
      throw new Error('a defect');
    };
    setTracing({
      ...tracing,
      request: () => ({ traceparent: '', child: () => expect.fail(), end }),
    });
    onTestFinished(() => setTracing(undefined));
    const { events, port } = await listening();
    const { socket, until } = open(port);
    socket.write(`${head(1)}x`);
    await until('{"status":"ok","accepted":1}');
    expect(events.active).toBe(0);
  });

  it('counts each answer once, from the fast path, node:http and for what no route has', async () => {
    const { port, answers } = await listening();
    const chunked =
      'POST /v1/track HTTP/1.1\r\nX-Service-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n';
    const { socket, received, until } = open(port);
    const counted = [
      [`${head(2)}{}`, '/v1/track', 200],
      [head(2).replace('X-Service-Key', 'X-Key') + '{}', '/v1/track', 401],
      [`${head(1001)}${'x'.repeat(1001)}`, '/v1/track', 413],
      [`${chunked}2\r\n{}\r\n0\r\n\r\n`, '/v1/track', 200],
      ['OPTIONS /v1/track HTTP/1.1\r\nHost: x\r\n\r\n', 'preflight', 204],
      ['PUT /v1/track HTTP/1.1\r\nHost: x\r\n\r\n', 'other', 405],
      ['GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n', 'other', 404],
    ] as const;
    for (const [bytes, , status] of counted) {
      const before = received().length;
      socket.write(bytes);
      await eventually(() => received().slice(before).includes(`HTTP/1.1 ${status} `));
    }
    await until('not found');
    expect(answers).toEqual(counted.map(([, path, status]) => [path, status]));
  });

  it('answers 503 above the limits of requests and of bytes', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { events, port } = await listening({
      maxRequests: 1,
      accept: () => held.then(() => ACCEPTED),
    });
    const [first, second] = [open(port), open(port)];
    first.socket.write(`${head(1)}x`);
    await eventually(() => events.active === 1);
    second.socket.write(`${head(1)}x`);
    await second.until('HTTP/1.1 503');
    release();
    await first.until('HTTP/1.1 200');
    await host.close();
    const { budget, port: other } = await listening({ budget: new BodyBudget(50) });
    const third = open(other);
    third.socket.write(`${head(100)}${'x'.repeat(100)}`);
    await third.until('HTTP/1.1 503');
    expect(budget.bytes).toBe(0);
  });

  it('has at most 100 requests of one connection in progress, so that others are served', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { events, port } = await listening({
      maxRequests: 120,
      accept: ({ body }) =>
        body.toString() === 'x' ? held.then(() => ACCEPTED) : Promise.resolve(ACCEPTED),
    });
    const [greedy, other] = [open(port), open(port)];
    greedy.socket.write(`${head(1).replace('Host', 'TE: x\r\nHost')}x`.repeat(150));
    await eventually(() => events.active === 100);
    other.socket.write(`${head(1)}y`);
    await other.until('HTTP/1.1 200');
    release();
    await eventually(() => greedy.received().split('HTTP/1.1 ').length === 151);
    expect(greedy.received().split('HTTP/1.1 503').length).toBe(51);
  });

  it('outlives a client that resets its connection after CONNECT', async () => {
    const { port } = await listening();
    const { socket } = open(port);
    socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.write('bytes that nobody reads');
    socket.resetAndDestroy();
    const next = open(port);
    next.socket.write(`${head(1)}x`);
    await next.until('HTTP/1.1 200');
  });

  it('loses no byte of the body while its key is looked up', async () => {
    const { port } = await listening({
      verify: async () =>
        new Promise((resolve) =>
          setTimeout(() => resolve({ accountId: 1, appId: 1, writeKeyId: 1 }), 50),
        ),
    });
    const { socket, until } = open(port);
    socket.write(`${head(10)}0123456789`);
    await until('HTTP/1.1 200');
  });

  it('closes each connection after its answer while it is closing', async () => {
    const { events, port } = await listening();
    events.isClosing = true;
    const { socket, until } = open(port);
    socket.write(`${head(1)}x`);
    await until('Connection: close');
  });
});

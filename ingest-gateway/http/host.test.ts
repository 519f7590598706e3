import type { FastifyInstance } from 'fastify';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import type { Verification } from '../auth/write-keys.ts';
import { createHost } from './host.ts';
import { BodyBudget } from './body.ts';
import type { Route } from './routes.ts';
import { EventServer } from './serve-events.ts';

let host: FastifyInstance;
let sockets: Socket[] = [];

interface Options {
  handler?: () => Promise<{ status: number; body: string }>;
  verify?: () => Verification | Promise<Verification>;
  budget?: BodyBudget;
  maxRequests?: number;
}

const OK = { status: 200, body: '{"status":"ok"}' };

async function listening(
  options: Options = {},
): Promise<{ events: EventServer; budget: BodyBudget; port: number }> {
  const budget = options.budget ?? new BodyBudget(1 << 20);
  const events = new EventServer({
    keys: { verify: options.verify ?? (() => ({ accountId: 1, appId: 1, writeKeyId: 1 })) },
    ...{
      maxBodyBytes: 1000,
      budget,
      maxRequests: options.maxRequests ?? 100,
      trusted: undefined,
      log: createLog({ part: 'test', level: 'silent' }),
    },
    now: Date.now,
    onAnswered: () => undefined,
  });
  const route: Route = {
    method: 'POST',
    path: '/v1/track',
    auth: 'write_key',
    cors: true,
    shape: 'single',
    type: 'track',
    handler: options.handler ?? (() => Promise.resolve(OK)),
  };
  host = createHost({ routes: [route], events, onAnswered: () => undefined });
  await host.listen({ host: '127.0.0.1', port: 0 });
  return { events, budget, port: (host.server.address() as AddressInfo).port };
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

async function settled(condition: () => boolean): Promise<void> {
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
  it('gives back what a client took that leaves in the middle of its body', async () => {
    const { events, budget, port } = await listening();
    const { socket } = open(port);
    socket.write(`${head(500)}${'x'.repeat(100)}`);
    await settled(() => budget.bytes === 100);
    socket.destroy();
    await settled(() => budget.bytes === 0 && events.active === 0);
  });

  it('serves several requests on one connection, sent ahead of their answers', async () => {
    const { port } = await listening();
    const { socket, received, until } = open(port);
    socket.write(`${head(1)}x`.repeat(3));
    await settled(() => received().split('HTTP/1.1 200').length === 4);
    socket.write(`${head(2000)}${'x'.repeat(2000)}${head(1)}x`);
    await until('HTTP/1.1 413');
    await settled(() => received().split('HTTP/1.1 200').length === 5);
  });

  it('answers 503, never 500, when a handler fails unexpectedly', async () => {
    const { budget, port } = await listening({
      handler: () => Promise.reject(new Error('a defect')),
    });
    const { socket, until } = open(port);
    socket.write(`${head(1)}x`);
    await until('HTTP/1.1 503');
    await until('{"status":"error","message":"temporarily unavailable, please retry"}');
    expect(budget.bytes).toBe(0);
  });

  it('answers 503 above the bounds of requests and of bytes', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { port } = await listening({ maxRequests: 1, handler: () => held.then(() => OK) });
    const [first, second] = [open(port), open(port)];
    first.socket.write(`${head(1)}x`);
    await settled(() => host.server.connections !== 0);
    await new Promise((resolve) => setTimeout(resolve, 50));
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

  it('waits for a key that has to be looked up, and loses no byte of the body meanwhile', async () => {
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

  it('ends connections after their answer while it is closing', async () => {
    const { events, port } = await listening();
    events.isClosing = true;
    const { socket, until } = open(port);
    socket.write(`${head(1)}x`);
    await until('Connection: close');
  });
});

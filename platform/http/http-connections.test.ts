import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerBrokenRequest } from './broken-request.ts';
import { ClientClock } from './client-clock.ts';
import { HttpConnections } from './http-connections.ts';
import { readBytes } from './read-body.ts';

const LIMITS = { head: 15_000, bodyIdle: 15_000, body: 300_000, write: 30_000 };
const LARGE = 'y'.repeat(8_000_000);

let server: Server;
let connections: HttpConnections;
let time: number;
let sockets: Socket[];
/** Bodies that arrived, or why they did not. */
let bodies: string[];
let release: () => void;

beforeEach(async () => {
  time = 0;
  [sockets, bodies] = [[], []];
  const held = new Promise<void>((resolve) => (release = resolve));
  server = createServer((request, response) => {
    void readBytes(request, { limit: 1000 }).then(async (body) => {
      bodies.push(body.toString());
      if (request.url === '/held') await held;
      if (!response.headersSent) response.end(request.url === '/large' ? LARGE : 'ok');
    });
  });
  connections = new HttpConnections({
    ...{ server, limits: LIMITS, clock: new ClientClock(() => time) },
    answerOverdue: (_request, response) =>
      void response.writeHead(503, { Connection: 'close' }).end(),
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    answerBrokenRequest({
      ...{ error, socket, connections, bodyOf: (reason) => `"${reason}"` },
    }),
  );
  server.on('connection', (socket: Socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function open(): { socket: Socket; text: () => string; isEnded: () => boolean } {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let [text, isEnded] = ['', false];
  socket.on('data', (chunk) => (text += chunk.toString()));
  socket.on('close', () => (isEnded = true));
  socket.on('error', () => undefined);
  return { socket, text: () => text, isEnded: () => isEnded };
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 5000; waited += 5)
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}

const received = (bytes: number) =>
  until(() => sockets.reduce((sum, socket) => sum + socket.bytesRead, 0) === bytes);

function pass(seconds: number): void {
  for (let second = 0; second < seconds; second++) {
    time += 1000;
    connections.check();
  }
}

const head = (length: number, path = '/') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

describe('a connection of node:http', () => {
  it('ends with more than 1,000 requests in progress, of which at most one read has come', async () => {
    const request = 'GET /held HTTP/1.1\r\nHost: x\r\n\r\n';
    let seen = 0;
    server.on('request', () => seen++);
    const flood = open();
    flood.socket.write(request.repeat(100_000));
    await until(flood.isEnded);
    expect(seen).toBeGreaterThan(1000);
    expect(seen).toBeLessThanOrEqual(1000 + Math.ceil(65_536 / request.length));
    expect(flood.text()).toBe('');
    const other = open();
    other.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => other.text().includes('ok'));
  });

  it('ends without an answer when no head is complete after 15 s', async () => {
    const { socket, text, isEnded } = open();
    const part = head(1).slice(0, -1);
    for (let at = 0; at < 15; at++) {
      socket.write(part[at] ?? '');
      await received(at + 1);
      pass(1);
    }
    expect(isEnded()).toBe(false);
    pass(1);
    await until(isEnded);
    expect(text()).toBe('');
  });

  it('is bounded again for the head of its second request', async () => {
    const { socket, text, isEnded } = open();
    socket.write(head(0));
    await until(() => text().endsWith('ok'));
    pass(60);
    socket.write('POST');
    await received(head(0).length + 4);
    pass(17);
    await until(isEnded);
  });

  it('is answered 503, never 408, when its body stops for 15 s', async () => {
    const { socket, text, isEnded } = open();
    socket.write(`${head(3)}ab`);
    await until(() => sockets.length === 1);
    await received(head(3).length + 2);
    pass(1);
    pass(16);
    await until(isEnded);
    expect(text()).toContain('HTTP/1.1 503');
    await until(() => bodies.length === 1);
    expect(bodies).toEqual(['client_gone']);
  });

  it('may take five minutes for a body while bytes keep coming, no more', async () => {
    const { socket, text, isEnded } = open();
    socket.write(head(100));
    for (let at = 0; at < 30; at++) {
      socket.write('x');
      await received(head(100).length + at + 1);
      pass(10);
    }
    expect(isEnded()).toBe(false);
    pass(1);
    await until(isEnded);
    expect(text()).toContain('HTTP/1.1 503');
  });

  it('is not ended in the middle of a head or a body by a pause of the process', async () => {
    const [inHead, inBody] = [open(), open()];
    inHead.socket.write('POST');
    inBody.socket.write(`${head(3)}ab`);
    await received(head(3).length + 6);
    pass(14);
    time += 600_000;
    pass(14);
    inHead.socket.write(head(1).slice(4) + 'a');
    inBody.socket.write('c');
    await until(() => inHead.text().endsWith('ok') && inBody.text().endsWith('ok'));
    expect(bodies.sort()).toEqual(['a', 'abc']);
  });

  it('is not bounded while the server works on its answer', async () => {
    const { socket, text } = open();
    socket.write(head(0, '/held'));
    await until(() => bodies.length === 1);
    pass(600);
    release();
    await until(() => text().endsWith('ok'));
  });

  it('is destroyed when its client does not read the answer for 30 s', async () => {
    const { socket, isEnded } = open();
    socket.pause();
    socket.write(head(0, '/large'));
    await until(() => (sockets[0]?.writableLength ?? 0) > 0);
    pass(1);
    pass(31);
    await until(() => sockets[0]?.destroyed === true);
    socket.resume();
    await until(isEnded);
  });

  it('answers the requests before broken bytes first, and the broken bytes after them', async () => {
    const { socket, text, isEnded } = open();
    socket.write(`${head(0, '/held')}broken\r\n\r\n`);
    await until(() => bodies.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(text()).toBe('');
    release();
    await until(isEnded);
    expect(text().match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  it('gets no answer to a request that it cut off by ending its side', async () => {
    const { socket, text, isEnded } = open();
    socket.end(`${head(3)}ab`);
    await until(isEnded);
    expect(text()).toBe('');
  });
});

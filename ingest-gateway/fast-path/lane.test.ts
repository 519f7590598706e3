import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { BodyBudget } from '../http/body.ts';
import type { Answer } from '../http/render.ts';
import type { EventRoute } from '../http/routes.ts';
import { send } from '../http/send.ts';
import { FastPath, type FastPathOptions, type WholeRequest } from './lane.ts';

const LIMITS = { read: 10_000, write: 10_000, idle: 10_000, lastWords: 100 };
const ROUTE: EventRoute = {
  ...{
    method: 'POST',
    path: '/v1/track',
    auth: 'write_key',
    cors: true,
    shape: 'single',
    type: 'track',
  },
  handler: () => Promise.reject(new Error('the lane submits')),
};

let ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends) end();
  ends = [];
});

interface Running {
  lane: FastPath;
  budget: BodyBudget;
  /**
   * Bodies in the order in which they were submitted by the lane, and those that reached node:http.
   */
  taken: string[];
  left: string[];
  open: () => { socket: Socket; text: () => string; isEnded: () => boolean };
}

async function running(options: Partial<FastPathOptions> = {}): Promise<Running> {
  const budget = new BodyBudget(100_000);
  const taken: string[] = [];
  const left: string[] = [];
  const submit = ({ body }: WholeRequest): Promise<Answer> => {
    taken.push(body.toString());
    return Promise.resolve({ status: 200, body: `"${body.toString()}"` });
  };
  const lane = new FastPath({
    ...{
      routes: new Map([['/v1/track', ROUTE]]),
      budget,
      maxBodyBytes: 100_000,
      limits: LIMITS,
      now: Date.now,
      submit,
    },
    keys: {
      verify: (key) => (key === 'good' ? { accountId: 1, appId: 1, writeKeyId: 1 } : 'invalid'),
    },
    isClosing: () => false,
    ...options,
  });
  const server: Server = createServer({ keepAliveTimeout: LIMITS.idle }, (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      left.push(body);
      send(
        response,
        { status: 200, body: `"${body}"` },
        { trace: 'f'.repeat(16), hasCors: true, isLast: false },
      );
    });
  });
  lane.attach(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    lane.close();
    server.closeAllConnections();
    server.close();
  });
  const open = () => {
    const socket = connect({
      port: (server.address() as AddressInfo).port,
      host: '127.0.0.1',
      noDelay: true,
    });
    let [text, isEnded] = ['', false];
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => (isEnded = true));
    socket.on('error', () => undefined);
    ends.push(() => void socket.destroy());
    return { socket, text: () => text, isEnded: () => isEnded };
  };
  return { lane, budget, taken, left, open };
}

const request = (body: string, headers = '') =>
  `POST /v1/track HTTP/1.1\r\nX-Service-Key: good\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`;
const answered = (text: string) => [...text.matchAll(/"(\w*)"/g)].map((match) => match[1]);

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 5000; waited += 5)
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}

describe('a connection of common requests', () => {
  it('is served without node:http, one answer after the other', async () => {
    const { open, taken, left, budget } = await running();
    const { socket, text } = open();
    socket.write(request('a') + request('b') + request('c', 'Origin: x\r\n'));
    await until(() => answered(text()).length === 3);
    socket.write(request('d'));
    await until(() => answered(text()).length === 4);
    expect([taken, left, answered(text()), budget.bytes]).toEqual([
      ['a', 'b', 'c', 'd'],
      [],
      ['a', 'b', 'c', 'd'],
      0,
    ]);
  });

  it('goes to node:http at the first request that is not common, with every byte, and the order of answers stays', async () => {
    const { open, taken, left } = await running();
    const { socket, text } = open();
    const chunked =
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n';
    socket.write(request('a') + request('b') + chunked + request('c', 'Host: x\r\n'));
    await until(() => answered(text()).length === 4);
    expect([taken, left, answered(text())]).toEqual([
      ['a', 'b'],
      ['xy', 'c'],
      ['a', 'b', 'xy', 'c'],
    ]);
  });

  it.each([1, 7, 64])('is the same when it comes in pieces of %i bytes', async (size) => {
    const { open, taken, left } = await running();
    const { socket, text } = open();
    const whole = request('a'.repeat(100), 'Host: x\r\n') + request('b'.repeat(50), 'Host: x\r\n');
    socket.write(request('first', 'Host: x\r\n'));
    await until(() => answered(text()).length === 1);
    for (let at = 0; at < whole.length; at += size) {
      socket.write(whole.slice(at, at + size));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => answered(text()).length === 3);
    expect([...taken, ...left]).toEqual(['first', 'a'.repeat(100), 'b'.repeat(50)]);
  });

  it('keeps reading a body whose head came whole', async () => {
    const { open, taken, left, budget } = await running();
    const { socket, text } = open();
    const whole = request('x'.repeat(90_000));
    socket.write(whole.slice(0, 1000));
    await until(() => budget.bytes > 0);
    socket.write(whole.slice(1000) + request('next'));
    await until(() => answered(text()).length === 2);
    expect([taken.map((body) => body.length), left, budget.bytes]).toEqual([[90_000, 4], [], 0]);
  });

  it.each([
    ['a key that is not known to be good', request('a', 'Host: x\r\n').replace('good', 'bad')],
    ['no key', 'POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na'],
    ['another path', request('a', 'Host: x\r\n').replace('/v1/track', '/v1/other')],
    ['a body over the limit', request('a'.repeat(100_001), 'Host: x\r\n')],
  ])('is left to node:http with %s', async (_, text) => {
    const { open, taken, left, budget } = await running();
    open().socket.write(text);
    await until(() => left.length === 1);
    expect([taken, budget.bytes]).toEqual([[], 0]);
  });

  it('waits for a key that has to be looked up, and loses no byte meanwhile', async () => {
    const wait = () => new Promise((resolve) => setTimeout(resolve, 30));
    const verify = (key: string) =>
      wait().then(() =>
        key === 'good'
          ? ({ accountId: 1, appId: 1, writeKeyId: 1 } as const)
          : ('invalid' as const),
      );
    const { open, taken, left } = await running({ keys: { verify } });
    const [good, bad] = [open(), open()];
    const whole = request('a') + request('b'.repeat(200)) + request('c');
    const inBody = request('a').length + request('b'.repeat(200)).length - 100;
    good.socket.write(whole.slice(0, inBody));
    bad.socket.write(request('x', 'Host: x\r\n').replace('good', 'bad'));
    await new Promise((resolve) => setTimeout(resolve, 10));
    good.socket.write(whole.slice(inBody));
    await until(() => answered(good.text()).length === 3 && left.length === 1);
    expect([taken, left]).toEqual([['a', 'b'.repeat(200), 'c'], ['x']]);
  });

  it('is left to node:http when its body no longer fits into memory', async () => {
    const budget = new BodyBudget(500);
    const { open, taken, left } = await running({ budget });
    const { socket } = open();
    socket.write(request('x'.repeat(900), 'Host: x\r\n').slice(0, 300));
    await until(() => budget.bytes > 0);
    socket.write(
      'x'.repeat(900 - (300 - request('x'.repeat(900), 'Host: x\r\n').indexOf('\r\n\r\n') - 4)),
    );
    await until(() => left.length === 1);
    expect([taken, left[0]?.length, budget.bytes]).toEqual([[], 900, 0]);
  });

  it('answers a client that has ended its side, then ends', async () => {
    const { open, taken } = await running();
    const { socket, text, isEnded } = open();
    socket.end(request('a'));
    await until(isEnded);
    expect([taken, answered(text())]).toEqual([['a'], ['a']]);
  });

  it('ends with a client that ended its side while it did not read the answer', async () => {
    const { open } = await running({
      submit: () => Promise.resolve({ status: 200, body: `"${'y'.repeat(8_000_000)}"` }),
    });
    const { socket, text, isEnded } = open();
    socket.pause();
    socket.write(request('a'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.end();
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.resume();
    await until(isEnded);
    expect(text().length).toBeGreaterThan(8_000_000);
  });

  it('gives back what a client took that leaves in the middle', async () => {
    const { open, budget } = await running();
    const { socket } = open();
    socket.write(request('x'.repeat(500)).slice(0, 300));
    await until(() => budget.bytes > 0);
    socket.destroy();
    await until(() => budget.bytes === 0);
  });

  it('answers 408 when a body does not come, and ends a connection on which nothing comes', async () => {
    const { open, budget } = await running({ limits: { ...LIMITS, read: 50, idle: 50 } });
    const [slow, silent, used] = [open(), open(), open()];
    slow.socket.write(request('x'.repeat(500)).slice(0, 300));
    used.socket.write(request('a'));
    await until(() => slow.isEnded() && silent.isEnded() && used.isEnded());
    expect(slow.text()).toContain('HTTP/1.1 408 Request Timeout');
    expect([answered(used.text()), budget.bytes]).toEqual([['a'], 0]);
  });

  it('waits with the next request for a client that does not read its answers', async () => {
    const large = { status: 200, body: `"${'y'.repeat(4_000_000)}"` };
    let submitted = 0;
    const submit = () => {
      submitted++;
      return Promise.resolve(large);
    };
    const { open } = await running({ submit });
    const { socket, text } = open();
    socket.pause();
    socket.write(request('a').repeat(20));
    await until(() => submitted > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(submitted).toBeLessThan(20);
    socket.resume();
    await until(() => text().length > 20 * large.body.length);
    expect(submitted).toBe(20);
  });

  it('ends idle connections when it closes, and busy ones with their answer', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { lane, open } = await running({
      submit: ({ body }) =>
        body.length === 1
          ? Promise.resolve({ status: 200, body: '""' })
          : held.then(() => ({ status: 200, body: '"held"' })),
    });
    const [idle, busy] = [open(), open()];
    idle.socket.write(request('a'));
    busy.socket.write(request('held'));
    await until(() => idle.text() !== '');
    lane.close();
    await until(idle.isEnded);
    expect(busy.text()).toBe('');
    release();
    await until(busy.isEnded);
    expect(answered(busy.text())).toEqual(['held']);
  });

  it('answers byte for byte like node:http', async () => {
    const { open } = await running();
    const [lane, node] = [open(), open()];
    lane.socket.write(request('a', `X-Service-Trace: ${'f'.repeat(16)}\r\n`));
    node.socket.write(request('a', 'TE: x\r\nHost: x\r\n'));
    await until(() => lane.text() !== '' && node.text() !== '');
    const withoutDate = (text: string) => text.replace(/Date: [^\r]*/, 'Date');
    expect(withoutDate(lane.text())).toBe(withoutDate(node.text()));
  });
});

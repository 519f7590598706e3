import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ClientClock } from '../../platform/http/client-clock.ts';
import { Turns } from '../../platform/http/turns.ts';
import { BodyBudget } from '../http/body.ts';
import type { Answer } from '../http/render.ts';
import type { EventRoute } from '../http/routes.ts';
import { send } from '../http/send.ts';
import type { EventRequest } from '../http/serve-events.ts';
import { FastPath, type FastPathOptions } from './fast-path.ts';

const LIMITS = {
  ...{ head: 15_000, bodyIdle: 15_000, body: 300_000 },
  ...{ write: 30_000, idle: 120_000 },
};
const ROUTE: EventRoute = {
  method: 'POST',
  path: '/v1/track',
  auth: 'write_key',
  cors: true,
  shape: 'single',
  type: 'track',
};

let ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends) end();
  ends = [];
});

interface Running {
  fastPath: FastPath;
  /** Lets seconds pass on the clock of the connections. */
  pass: (seconds: number) => void;
  /** The same at once, as when the process is paused. */
  skip: (seconds: number) => void;
  /** Bytes that the server has read, of all connections. */
  received: () => number;
  budget: BodyBudget;
  /** Status of each answer, and how long the client waited for it, ms. */
  answers: [status: number, waited: number][];
  /** Bodies that the fast path submitted, and those that reached node:http, in order. */
  submitted: string[];
  passedOn: string[];
  open: () => { socket: Socket; text: () => string; isEnded: () => boolean };
}

type Options = Partial<Omit<FastPathOptions, 'events'>> & {
  submit?: (request: EventRequest) => Promise<Answer>;
};

async function running({ submit, ...options }: Options = {}): Promise<Running> {
  const budget = new BodyBudget(200_000);
  const submitted: string[] = [];
  const passedOn: string[] = [];
  const answers: Running['answers'] = [];
  let time = 0;
  const echo = ({ body }: EventRequest): Promise<Answer> => {
    submitted.push(body.toString());
    return Promise.resolve({ status: 200, body: `"${body.toString()}"` });
  };
  const fastPath = new FastPath({
    ...{
      routes: new Map([['/v1/track', ROUTE]]),
      budget,
      maxBodyBytes: 100_000,
      limits: LIMITS,
      clock: new ClientClock(() => time),
      now: Date.now,
      onAnswered: (_path, status, waited) => void answers.push([status, waited]),
      events: { submit: submit ?? echo, isClosing: false },
    },
    keys: {
      verify: (key) => (key === 'good' ? { accountId: 1, appId: 1, writeKeyId: 1 } : 'invalid'),
    },
    ...options,
  });
  const server: Server = createServer({ keepAliveTimeout: LIMITS.idle }, (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      passedOn.push(body);
      send(
        response,
        { status: 200, body: `"${body}"` },
        { trace: 'f'.repeat(16), hasCors: true, isLast: false },
      );
    });
  });
  Object.assign(server, { httpAllowHalfOpen: true });
  fastPath.attach(server);
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => void sockets.push(socket));
  const received = () => sockets.reduce((sum, socket) => sum + socket.bytesRead, 0);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    fastPath.close();
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
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      time += 1000;
      fastPath.check();
    }
  };
  const skip = (seconds: number) => {
    time += seconds * 1000;
    fastPath.check();
  };
  return { fastPath, pass, skip, received, budget, answers, submitted, passedOn, open };
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
    const { open, submitted, passedOn, budget } = await running();
    const { socket, text } = open();
    socket.write(request('a') + request('b') + request('c', 'Origin: x\r\n'));
    await until(() => answered(text()).length === 3);
    socket.write(request('d'));
    await until(() => answered(text()).length === 4);
    expect([submitted, passedOn, answered(text()), budget.bytes]).toEqual([
      ['a', 'b', 'c', 'd'],
      [],
      ['a', 'b', 'c', 'd'],
      0,
    ]);
  });

  it('goes to node:http with every byte at the first uncommon request, and answers stay in order', async () => {
    const { open, submitted, passedOn } = await running();
    const { socket, text } = open();
    const chunked =
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n';
    socket.write(request('a') + request('b') + chunked + request('c', 'Host: x\r\n'));
    await until(() => answered(text()).length === 4);
    expect([submitted, passedOn, answered(text())]).toEqual([
      ['a', 'b'],
      ['xy', 'c'],
      ['a', 'b', 'xy', 'c'],
    ]);
  });

  it.each([1, 7, 64])('gets the same answers when it sends pieces of %i bytes', async (size) => {
    const { open, submitted, passedOn } = await running();
    const { socket, text } = open();
    const whole = request('a'.repeat(100), 'Host: x\r\n') + request('b'.repeat(50), 'Host: x\r\n');
    socket.write(request('first', 'Host: x\r\n'));
    await until(() => answered(text()).length === 1);
    for (let at = 0; at < whole.length; at += size) {
      socket.write(whole.slice(at, at + size));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => answered(text()).length === 3);
    expect([...submitted, ...passedOn]).toEqual(['first', 'a'.repeat(100), 'b'.repeat(50)]);
  });

  it('reads on when a body arrives after its head', async () => {
    const { open, submitted, passedOn, budget } = await running();
    const { socket, text } = open();
    const whole = request('x'.repeat(90_000));
    socket.write(whole.slice(0, 1000));
    await until(() => budget.bytes > 0);
    socket.write(whole.slice(1000) + request('next'));
    await until(() => answered(text()).length === 2);
    expect([submitted.map((body) => body.length), passedOn, budget.bytes]).toEqual([
      [90_000, 4],
      [],
      0,
    ]);
  });

  it('reads a large body in turns: others are answered while it waits for one', async () => {
    const rounds: (() => void)[] = [];
    const budget = new BodyBudget(200_000);
    const turns = new Turns({ perRound: 1, defer: (round) => rounds.push(round) });
    Object.assign(budget, { turns });
    const { open, submitted } = await running({ budget });
    const large = open();
    const whole = request('x'.repeat(95_000));
    large.socket.write(whole.slice(0, 80_000));
    await until(() => turns.waiting === 1);
    large.socket.write(whole.slice(80_000));
    const small = open();
    small.socket.write(request('small'));
    await until(() => answered(small.text()).length === 1);
    expect([turns.waiting, submitted]).toEqual([1, ['small']]);
    while (rounds.length > 0) rounds.shift()?.();
    await until(() => answered(large.text()).length === 1);
    expect([turns.waiting, submitted.length, budget.bytes]).toEqual([0, 2, 0]);
  });

  it('goes to node:http with another path', async () => {
    const { open, submitted, passedOn, budget } = await running();
    open().socket.write(request('a', 'Host: x\r\n').replace('/v1/track', '/v1/other'));
    await until(() => passedOn.length === 1);
    expect([submitted, budget.bytes]).toEqual([[], 0]);
  });

  it.each([
    ['an invalid key', 401, request('a').replace('good', 'bad')],
    ['no key', 401, 'POST /v1/track HTTP/1.1\r\nContent-Length: 1\r\n\r\na'],
    ['a key that cannot be verified', 503, request('a').replace('good', 'down')],
    ['a body over the limit', 413, request('a'.repeat(100_001))],
    ['a body that exceeds the memory budget', 503, request('a'.repeat(60_000))],
  ])(
    'is answered without node:http, and served on, after %s',
    async (_, status, refusedRequest) => {
      const { open, submitted, passedOn, answers, budget } = await running({
        budget: new BodyBudget(50_000),
        keys: {
          verify: (key) =>
            key === 'good'
              ? { accountId: 1, appId: 1, writeKeyId: 1 }
              : key === 'down'
                ? 'unverified'
                : 'invalid',
        },
      });
      const { socket, text } = open();
      socket.write(refusedRequest.slice(0, refusedRequest.indexOf('\r\n\r\n') + 4));
      await new Promise((resolve) => setTimeout(resolve, 20));
      socket.write(refusedRequest.slice(refusedRequest.indexOf('\r\n\r\n') + 4) + request('next'));
      await until(() => answered(text()).includes('next'));
      expect(text()).toContain(`HTTP/1.1 ${status} `);
      expect([submitted, passedOn, answers, budget.bytes]).toEqual([
        ['next'],
        [],
        [
          [status, 0],
          [200, 0],
        ],
        0,
      ]);
    },
  );

  it('loses no byte while its key is looked up', async () => {
    const wait = () => new Promise((resolve) => setTimeout(resolve, 30));
    const verify = (key: string) =>
      wait().then(() =>
        key === 'good'
          ? ({ accountId: 1, appId: 1, writeKeyId: 1 } as const)
          : ('invalid' as const),
      );
    const { open, submitted, passedOn } = await running({ keys: { verify } });
    const [good, bad] = [open(), open()];
    const whole = request('a') + request('b'.repeat(200)) + request('c');
    const inBody = request('a').length + request('b'.repeat(200)).length - 100;
    good.socket.write(whole.slice(0, inBody));
    bad.socket.write(request('x', 'Host: x\r\n').replace('good', 'bad'));
    await new Promise((resolve) => setTimeout(resolve, 10));
    good.socket.write(whole.slice(inBody));
    await until(() => answered(good.text()).length === 3 && bad.text().includes('HTTP/1.1 401'));
    expect([submitted, passedOn]).toEqual([['a', 'b'.repeat(200), 'c'], []]);
  });

  it('holds no more memory than the budget counts when a body arrives byte by byte', async () => {
    const { open, submitted, budget } = await running();
    const { socket } = open();
    const body = 'x'.repeat(2000);
    const head = request(body).slice(0, -body.length);
    socket.write(head);
    for (let at = 0; at < 300; at++) {
      socket.write('x');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => budget.bytes >= 300);
    expect(budget.bytes).toBeLessThanOrEqual(600);
    socket.write(body.slice(300));
    await until(() => submitted.length === 1);
    await until(() => budget.bytes === 0);
    expect(submitted).toEqual([body]);
  });

  it('is answered after the client ended its side, then ended', async () => {
    const { open, submitted } = await running();
    const { socket, text, isEnded } = open();
    socket.end(request('a'));
    await until(isEnded);
    expect([submitted, answered(text())]).toEqual([['a'], ['a']]);
  });

  it('ends once a client that ended its side has read the whole answer', async () => {
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

  it('releases its part of the budget when the client leaves in the middle of a body', async () => {
    const { open, budget } = await running();
    const { socket } = open();
    socket.write(request('x'.repeat(500)).slice(0, 300));
    await until(() => budget.bytes > 0);
    socket.destroy();
    await until(() => budget.bytes === 0);
  });

  it('serves pipelined requests that arrived before the client ended its side', async () => {
    const { open, submitted, passedOn } = await running({
      submit: async ({ body }) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        submitted.push(body.toString());
        return { status: 200, body: `"${body.toString()}"` };
      },
    });
    const { socket, text, isEnded } = open();
    const uncommon = request('c', 'TE: x\r\nHost: x\r\n');
    socket.end(request('a') + request('b') + uncommon + request('d', 'Host: x\r\n'));
    await until(() => answered(text()).length === 4);
    expect([submitted, passedOn]).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    expect(answered(text())).toEqual(['a', 'b', 'c', 'd']);
    await until(isEnded);
  });

  it('answers 401 to a client that ended its side while its key was looked up', async () => {
    const { open, passedOn } = await running({
      keys: {
        verify: () => new Promise((resolve) => setTimeout(() => resolve('invalid'), 50)),
      },
    });
    const { socket, text, isEnded } = open();
    socket.end(request('a') + request('b'));
    await until(isEnded);
    expect(text().split('HTTP/1.1 401').length).toBe(3);
    expect(passedOn).toEqual([]);
  });

  it('ends without an answer when the client ends its side in the middle of a body', async () => {
    const { open, budget } = await running();
    const { socket, text, isEnded } = open();
    socket.end(request('a') + request('abc').slice(0, -1));
    await until(isEnded);
    expect([answered(text()), text().split('HTTP/1.1').length, budget.bytes]).toEqual([
      ['a'],
      2,
      0,
    ]);
  });

  it('is measured from its last byte until its answer', async () => {
    let answer: () => void = () => undefined;
    const { open, pass, answers, received } = await running({
      submit: () =>
        new Promise((resolve) => {
          answer = () => resolve({ status: 200, body: '"late"' });
        }),
    });
    const { socket, text } = open();
    const whole = request('slow');
    for (const [waited, pieces] of [
      [3000, [whole]],
      [5000, [whole.slice(0, -2), whole.slice(-2)]],
    ] as const) {
      for (const piece of pieces) {
        const before = received();
        socket.write(piece);
        await until(() => received() === before + piece.length);
        if (piece !== pieces.at(-1)) pass(7);
      }
      const count = answers.length;
      pass(waited / 1000);
      answer();
      await until(() => answers.length > count && text().endsWith('"late"'));
      expect(answers.at(-1)).toEqual([200, waited]);
    }
  });

  it('may upload slowly: a body ends with 503, never 408, and only when no byte has come for 15 s', async () => {
    const { open, pass, submitted, received, answers } = await running();
    const [steady, stuck] = [open(), open()];
    const [body, whole] = ['x'.repeat(20), request('x'.repeat(20))];
    steady.socket.write(whole.slice(0, -20));
    stuck.socket.write(whole.slice(0, -1));
    const sent = 2 * whole.length - 21;
    await until(() => received() === sent);
    for (let at = 0; at < 19; at++) {
      steady.socket.write('x');
      await until(() => received() === sent + at + 1);
      pass(14);
    }
    await until(stuck.isEnded);
    expect(stuck.text()).toContain('HTTP/1.1 503 Service Unavailable');
    expect(stuck.text()).toContain('Connection: close');
    expect(answers).toEqual([[503, 0]]);
    steady.socket.write('x');
    await until(() => submitted.length === 1);
    expect(submitted).toEqual([body]);
  });

  it('has five minutes for a body, also when bytes keep coming', async () => {
    const { open, pass, received, budget } = await running();
    const { socket, text, isEnded } = open();
    const head = request('x'.repeat(100)).slice(0, -100);
    socket.write(head);
    for (let second = 0; second < 300; second += 10) {
      socket.write('x');
      const sent = head.length + second / 10 + 1;
      await until(() => received() === sent);
      pass(10);
    }
    pass(1);
    await until(isEnded);
    expect(text()).toContain('HTTP/1.1 503');
    expect(budget.bytes).toBe(0);
  });

  it('is not ended in the middle of a body by a pause of the process', async () => {
    const { open, pass, submitted, budget, skip } = await running();
    const { socket } = open();
    socket.write(request('abc').slice(0, -1));
    await until(() => budget.bytes > 0);
    pass(14);
    skip(600);
    pass(14);
    socket.write('c');
    await until(() => submitted.length === 1);
  });

  it('is ended when nothing arrives: after 15 s at first, after 120 s between requests', async () => {
    const { open, pass } = await running();
    const [silent, used] = [open(), open()];
    used.socket.write(request('a'));
    await until(() => used.text() !== '');
    pass(16);
    await until(silent.isEnded);
    expect([silent.text(), used.isEnded()]).toEqual(['', false]);
    pass(105);
    await until(used.isEnded);
    expect(answered(used.text())).toEqual(['a']);
  });

  it('does not read the next request of a client that does not read its answers', async () => {
    const large = { status: 200, body: `"${'y'.repeat(4_000_000)}"` };
    let count = 0;
    const submit = () => {
      count++;
      return Promise.resolve(large);
    };
    const { open } = await running({ submit });
    const { socket, text } = open();
    socket.pause();
    socket.write(request('a').repeat(20));
    await until(() => count > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(count).toBeLessThan(20);
    socket.resume();
    await until(() => text().length > 20 * large.body.length);
    expect(count).toBe(20);
  });

  it('is ended at once when the fast path closes while it is idle, else with its answer', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { fastPath, open } = await running({
      submit: ({ body }) =>
        body.length === 1
          ? Promise.resolve({ status: 200, body: '""' })
          : held.then(() => ({ status: 200, body: '"held"' })),
    });
    const [idle, busy] = [open(), open()];
    idle.socket.write(request('a'));
    busy.socket.write(request('held'));
    await until(() => idle.text() !== '');
    fastPath.close();
    await until(idle.isEnded);
    expect(busy.text()).toBe('');
    release();
    await until(busy.isEnded);
    expect(answered(busy.text())).toEqual(['held']);
  });

  it('gets the same bytes as an answer of node:http', async () => {
    const { open } = await running();
    const [fast, node] = [open(), open()];
    fast.socket.write(request('a', `X-Service-Trace: ${'f'.repeat(16)}\r\n`));
    node.socket.write(request('a', 'TE: x\r\nHost: x\r\n'));
    await until(() => fast.text() !== '' && node.text() !== '');
    const withoutDate = (text: string) => text.replace(/Date: [^\r]*/, 'Date');
    expect(withoutDate(fast.text())).toBe(withoutDate(node.text()));
  });
});

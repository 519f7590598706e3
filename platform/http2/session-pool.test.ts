import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { delay } from '../backoff.ts';
import { atEnd, closeAll, listen } from '../outbound/receivers.ts';
import { outcome, poolTo, post, request } from './testing/pool.ts';
import { http2Receiver, respond, tlsReceiver, type ReceivedPost } from './testing/receivers.ts';

afterEach(closeAll);

/** Resolves when `condition` holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(2);
}

describe('a request', () => {
  test('arrives with its headers and its body, and has the answer', async () => {
    const { port, received } = await http2Receiver((one) =>
      respond(one, { status: 404, headers: { 'x-id': '7' }, body: '{"reason":"سلام"}' }),
    );
    const sent = request('/3/device/a?b', 'سلام');
    const answer = await post(poolTo(port), {
      ...sent,
      shared: [['authorization', 'bearer t']],
      headers: [['content-length', '8']],
    });
    expect(answer).toMatchObject({
      ...{ kind: 'answered', status: 404, body: '{"reason":"سلام"}' },
      headers: { 'x-id': '7' },
    });
    expect(received[0]?.body.toString()).toBe('سلام');
    expect(received[0]?.headers).toMatchObject({ authorization: 'bearer t', ':method': 'POST' });
  });

  test('waits while the server allows no more streams, and then is sent', async () => {
    const waiting: ReceivedPost[] = [];
    let open = 0;
    let maxOpen = 0;
    const { port, sessions } = await http2Receiver(
      (one) => {
        maxOpen = Math.max(maxOpen, ++open);
        waiting.push(one);
        setImmediate(() => {
          open--;
          respond(waiting.shift() ?? one);
        });
      },
      { settings: { maxConcurrentStreams: 3 } },
    );
    const pool = poolTo(port);
    const results = await Promise.all(Array.from({ length: 100 }, () => post(pool)));
    expect(results.map(outcome)).toEqual(Array(100).fill(200));
    expect([maxOpen, sessions.length]).toEqual([3, 1]);
  });

  test('has another connection when the first one is full, up to a maximum', async () => {
    const waiting: ReceivedPost[] = [];
    const { port, sessions } = await http2Receiver((one) => waiting.push(one), {
      settings: { maxConcurrentStreams: 2 },
    });
    const pool = poolTo(port, { maxSessions: 3 });
    const results = Promise.all(Array.from({ length: 10 }, () => post(pool)));
    await until(() => waiting.length === 6);
    expect(sessions.length).toBe(3);
    const timer = setInterval(() => waiting.splice(0).forEach((one) => respond(one)), 1);
    expect((await results).map(outcome)).toEqual(Array(10).fill(200));
    clearInterval(timer);
    expect(sessions.length).toBe(3);
  });

  test('is not sent when its time ends before there is room', async () => {
    const { port, received } = await http2Receiver(() => undefined, {
      settings: { maxConcurrentStreams: 1 },
    });
    const pool = poolTo(port);
    const stop = new AbortController();
    const first = post(pool, request('/1'), { signal: stop.signal });
    await until(() => received.length === 1);
    expect(await post(pool, request('/2'), { timeoutMs: 50 })).toEqual({
      ...{ kind: 'not_sent', message: 'the server had no room in time' },
    });
    stop.abort();
    expect(outcome(await first)).toBe('lost');
    expect(received.map(({ path }) => path)).toEqual(['/1']);
  });

  test('is not sent when too many others wait', async () => {
    const { port } = await http2Receiver((one) => respond(one));
    const pool = poolTo(port, { maxWaiting: 5 });
    const results = await Promise.all(Array.from({ length: 7 }, () => post(pool)));
    expect(results.map(outcome)).toEqual([200, 200, 200, 200, 200, 'not_sent', 'not_sent']);
  });

  test('arrives whole through small windows, which grow and shrink meanwhile', async () => {
    const { port, received, sessions } = await http2Receiver((one) => respond(one), {
      settings: { initialWindowSize: 100 },
    });
    const pool = poolTo(port);
    const bodies = Array.from({ length: 20 }, (_, at) => `${at % 10}`.repeat(1 + at * 5000));
    const results = bodies.map((body) => post(pool, request('/', body)));
    await until(() => received.length > 0);
    sessions[0]?.settings({ initialWindowSize: 70_000 });
    await until(() => received.length > 5);
    sessions[0]?.settings({ initialWindowSize: 10 });
    expect((await Promise.all(results)).map(outcome)).toEqual(Array(20).fill(200));
    expect(received.map(({ body }) => body.toString()).sort()).toEqual(bodies.sort());
  });

  test('has the first 16 KiB of a long answer, and others go on', async () => {
    const { port } = await http2Receiver((one) => respond(one, { body: 'x'.repeat(300_000) }));
    const pool = poolTo(port);
    for (let count = 0; count < 10; count++)
      expect(await post(pool)).toMatchObject({ status: 200, body: 'x'.repeat(16 * 1024) });
  });

  test('has its answer when megabytes of answers came before it', async () => {
    const { port } = await http2Receiver((one) => respond(one, { body: 'x'.repeat(16_000) }));
    const pool = poolTo(port);
    for (let count = 0; count < 10; count++) {
      const results = await Promise.all(Array.from({ length: 50 }, () => post(pool)));
      expect(results.map(outcome)).toEqual(Array(50).fill(200));
    }
  });

  test('has an answer that came before its body was sent', async () => {
    const port = await tlsReceiver((socket) => earlyAnswer(socket));
    expect(outcome(await post(poolTo(port), request('/', 'x'.repeat(100_000))))).toBe(413);
  });

  test('has the final answer, after an informational one and before trailers', async () => {
    const { port } = await http2Receiver(({ stream }) => {
      stream.additionalHeaders({ ':status': 103 });
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': '1' }));
      stream.end('body');
    });
    expect(await post(poolTo(port))).toMatchObject({ status: 200, body: 'body' });
  });
});

describe('a request is sent again, because the server certainly did not process it', () => {
  test('after REFUSED_STREAM', async () => {
    const { port, received } = await http2Receiver((one, count) =>
      count === 1 ? one.stream.close(7) : respond(one),
    );
    expect(outcome(await post(poolTo(port)))).toBe(200);
    expect(received).toHaveLength(2);
  });

  test('after a GOAWAY that names an earlier stream as the last one', async () => {
    const { port, received, sessions } = await http2Receiver((one) => {
      if (one.path !== '/above') return;
      // Of three requests that were received, the server says that it processes the first.
      if (sessions.length === 1) sessions[0]?.goaway(0, 1);
      else respond(one);
    });
    const pool = poolTo(port);
    const [first, second] = [post(pool, request('/first')), post(pool, request('/above'))];
    expect(outcome(await second)).toBe(200);
    const onFirst = received.find(({ path }) => path === '/first');
    if (onFirst) respond(onFirst);
    expect(outcome(await first)).toBe(200);
    expect(received.map(({ path }) => path)).toEqual(['/first', '/above', '/above']);
  });

  test('at most twice: then it is not sent', async () => {
    const { port, received } = await http2Receiver(({ stream }) => stream.close(7));
    expect(await post(poolTo(port))).toEqual({
      kind: 'not_sent',
      message: 'the server reset the stream: REFUSED_STREAM',
    });
    expect(received).toHaveLength(3);
  });
});

describe('a request may have been processed, and is sent once,', () => {
  test.each<[string, (one: ReceivedPost) => void, string]>([
    ['when the connection is closed', ({ stream }) => stream.session?.destroy(), 'NO_ERROR'],
    ['when its stream is reset', ({ stream }) => stream.close(8), 'reset the stream: CANCEL'],
    ['when its stream fails', ({ stream }) => stream.close(2), 'reset the stream: INTERNAL_ERROR'],
    ['when no answer comes in time', () => undefined, 'did not answer in time'],
    [
      'when a GOAWAY names it as the last stream',
      ({ stream }) => {
        stream.session?.goaway(2, stream.id);
        setTimeout(() => stream.session?.destroy(), 20);
      },
      'closes the connection: INTERNAL_ERROR',
    ],
  ])('%s', async (_, misbehave, message) => {
    const { port, received } = await http2Receiver(misbehave);
    const result = await post(poolTo(port, { maxSessions: 2 }), request(), { timeoutMs: 1500 });
    expect(result).toEqual({ kind: 'lost', message: expect.stringContaining(message) as string });
    expect(received).toHaveLength(1);
  });

  test('when the caller stops waiting; others on the connection go on', async () => {
    const { port, received } = await http2Receiver((one) => {
      if (one.path === '/') respond(one);
    });
    const stop = new AbortController();
    const pool = poolTo(port);
    const stopped = post(pool, request('/slow'), { signal: stop.signal });
    await until(() => received.length === 1);
    stop.abort();
    expect(await stopped).toEqual({ kind: 'lost', message: 'aborted' });
    expect(outcome(await post(pool))).toBe(200);
    expect(received[0]?.stream.rstCode).toBe(8);
  });

  test('when the answer ends after its status: the status is the answer', async () => {
    const { port } = await http2Receiver(({ stream }) => {
      stream.respond({ ':status': 400 });
      stream.write('{"rea');
      setTimeout(() => stream.session?.destroy(), 20);
    });
    expect(await post(poolTo(port))).toMatchObject({ status: 400, body: '{"rea' });
  });
});

describe('a request is not sent', () => {
  const closedAtOnce = () => listen(createServer((socket) => socket.destroy()));
  const silent = () => listen(createServer(() => undefined));

  test.each<[string, () => number | Promise<number>]>([
    ['when the connection is refused', () => 1],
    ['when the server closes connections', closedAtOnce],
    ['when the server does not encrypt', silent],
    ['when the server sends no SETTINGS', () => tlsReceiver(() => undefined)],
    ['when the server closes before SETTINGS', () => tlsReceiver((socket) => socket.end())],
    ['when the server sends something else', () => tlsReceiver((socket) => socket.write('HTTP/'))],
  ])('%s', async (_, start) => {
    const pool = poolTo(await start(), { connectMs: 100 });
    expect(outcome(await post(pool))).toBe('not_sent');
    // Later ones neither wait nor connect without end.
    expect(outcome(await post(pool))).toBe('not_sent');
  });

  test('when the caller has stopped before there was a connection', async () => {
    const stop = new AbortController();
    const pool = poolTo(await silent());
    const waiting = post(pool, request(), { signal: stop.signal });
    stop.abort();
    expect(outcome(await waiting)).toBe('not_sent');
    expect(outcome(await post(pool, request(), { signal: stop.signal }))).toBe('not_sent');
  });

  test('when the pool is closed; what was sent has its answer', async () => {
    const { port, received } = await http2Receiver(() => undefined, {
      settings: { maxConcurrentStreams: 1 },
    });
    const pool = poolTo(port);
    const [sent, waiting] = [post(pool), post(pool)];
    await until(() => received.length === 1);
    pool.close();
    expect(outcome(await waiting)).toBe('not_sent');
    expect(outcome(await post(pool))).toBe('not_sent');
    respond(received[0] as ReceivedPost);
    expect(outcome(await sent)).toBe(200);
  });

  test('into a connection that was lost in silence: it is asked first', async () => {
    const { port, received } = await http2Receiver((one) => respond(one));
    const link = await cuttableLink(port);
    const pool = poolTo(link.port, { quietMs: 30, pingMs: 1000 });
    expect(outcome(await post(pool))).toBe(200);
    link.freeze();
    await delay(60);
    expect(outcome(await post(pool))).toBe(200);
    expect(received).toHaveLength(2);
  });
});

test('a request whose connection is lost in silence is lost before its time ends', async () => {
  const { port, received } = await http2Receiver(() => undefined);
  const link = await cuttableLink(port);
  const pool = poolTo(link.port, { quietMs: 30, pingMs: 50 });
  const result = post(pool, request(), { timeoutMs: 600_000 });
  await until(() => received.length === 1);
  link.freeze();
  expect(await result).toMatchObject({
    kind: 'lost',
    message: 'the server answered no PING within 0.05 s',
  });
});

test('a slow answer is waited for while the server answers PINGs', async () => {
  const { port, received, sessions } = await http2Receiver(() => undefined);
  let pings = 0;
  const pool = poolTo(port, { quietMs: 20, pingMs: 1000 });
  const result = post(pool);
  await until(() => received.length === 1);
  sessions[0]?.on('ping', () => pings++);
  const began = performance.now();
  // Longer than a PING may take.
  await until(() => pings > 5 && performance.now() - began > 1200);
  respond(received[0] as ReceivedPost);
  expect(outcome(await result)).toBe(200);
});

test('a connection without requests is closed, and opened again', async () => {
  const { port, sessions } = await http2Receiver((one) => respond(one));
  const pool = poolTo(port, { idleMs: 30 });
  expect(outcome(await post(pool))).toBe(200);
  await until(() => sessions[0]?.closed === true);
  expect(outcome(await post(pool))).toBe(200);
  expect(sessions).toHaveLength(2);
});

test('a connection that waits for its server to begin is not idle', async () => {
  const port = await tlsReceiver((socket) => void setTimeout(() => earlyAnswer(socket), 200));
  expect(outcome(await post(poolTo(port, { idleMs: 30 })))).toBe(413);
});

test('a server that is back is used again', async () => {
  const pool = poolTo(1);
  expect(outcome(await post(pool))).toBe('not_sent');
  const { port, received } = await http2Receiver((one) => respond(one));
  const moved = poolTo(port);
  await Promise.all(Array.from({ length: 5 }, () => post(moved)));
  received[0]?.stream.session?.destroy();
  await until(() => received[0]?.stream.session === undefined);
  expect(outcome(await post(moved))).toBe(200);
});

/** SETTINGS, then 413 on stream 1 (`:status` of the static name 8) without any WINDOW_UPDATE. */
function earlyAnswer(socket: Socket): void {
  socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  socket.once('data', () => undefined);
  setTimeout(() => {
    socket.write(Buffer.from([0, 0, 5, 1, 5, 0, 0, 0, 1, 0x08, 3, 0x34, 0x31, 0x33]));
  }, 50);
}

/** Forwards connections to a port until it freezes those that are open. */
async function cuttableLink(to: number): Promise<{ port: number; freeze: () => void }> {
  const pairs: Socket[] = [];
  const server = createServer((socket) => {
    const target = connect(to, 'localhost');
    pairs.push(socket, target);
    for (const one of [socket, target]) one.on('error', () => undefined);
    socket.pipe(target).pipe(socket);
  });
  const port = await listen(server);
  atEnd(() => pairs.forEach((socket) => socket.destroy()));
  const freeze = () => pairs.splice(0).forEach((socket) => socket.unpipe().pause());
  return { port, freeze };
}

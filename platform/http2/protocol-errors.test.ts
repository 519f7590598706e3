import type { TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { closeAll } from '../outbound/receivers.ts';
import { ERROR } from './frames.ts';
import { poolTo, post, request } from './testing/pool.ts';
import { tlsReceiver } from './testing/receivers.ts';

afterEach(closeAll);

function frame(type: number, flags: number, streamId: number, payload: number[] = []): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, Buffer.from(payload)]);
}

const SETTINGS = frame(4, 0, 0);
/** `:status 200`, as a static index. */
const STATUS_200 = 0x88;
const OK = frame(1, 5, 1, [STATUS_200]);
const repeat = (bytes: Buffer, count: number) => Buffer.concat(Array<Buffer>(count).fill(bytes));

/** A server that sends SETTINGS, and `parts` one by one when the request is there. */
async function scripted(...parts: Buffer[]): Promise<{ port: number; received: () => Buffer }> {
  const received: Buffer[] = [];
  const port = await tlsReceiver((socket: TLSSocket) => {
    socket.write(SETTINGS);
    let isAnswered = false;
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      // The body `{}` ends the request.
      if (isAnswered || !Buffer.concat(received).includes('{}')) return;
      isAnswered = true;
      socket.setNoDelay(true);
      parts.forEach((part, at) => setTimeout(() => socket.write(part), at * 2));
    });
  });
  return { port, received: () => Buffer.concat(received) };
}

/** The error code of the GOAWAY at the end of what was received. */
function goAwayCode(received: Buffer): number | undefined {
  const at = received.lastIndexOf(Buffer.from([0, 0, 8, 7, 0]));
  return at < 0 ? undefined : received.readUInt32BE(at + 13);
}

describe('a server that breaks the protocol loses the connection:', () => {
  test.each<[string, Buffer, number]>([
    ['a frame of 16 MB', Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1]), ERROR.frameSize],
    ['an answer on a stream without a request', frame(1, 5, 3, [STATUS_200]), ERROR.protocol],
    ['an answer on a stream of its own', frame(1, 5, 2, [STATUS_200]), ERROR.protocol],
    ['a push', frame(5, 4, 1, [0, 0, 0, 2, STATUS_200]), ERROR.protocol],
    ['an answer without a status', frame(1, 5, 1, []), ERROR.protocol],
    ['a status that is no number', frame(1, 5, 1, [0x08, 1, 0x78]), ERROR.protocol],
    ['a body before its answer', frame(0, 1, 1, [1]), ERROR.protocol],
    ['padding that is longer than its frame', frame(1, 13, 1, [9, STATUS_200]), ERROR.protocol],
    ['headers that cannot be decoded', frame(1, 5, 1, [0xff]), ERROR.compression],
    ['another frame within headers', repeat(frame(1, 1, 1), 2), ERROR.protocol],
    ['a continuation of nothing', frame(9, 4, 1), ERROR.protocol],
    ['a window that grows by nothing', frame(8, 0, 0, [0, 0, 0, 0]), ERROR.protocol],
    ['a window that is too large', frame(8, 0, 0, [127, 255, 255, 255]), ERROR.flowControl],
    ['SETTINGS of five bytes', frame(4, 0, 0, [0, 4, 0, 0, 1]), ERROR.frameSize],
    ['a window in SETTINGS', frame(4, 0, 0, [0, 4, 255, 255, 255, 255]), ERROR.flowControl],
    ['a PING of one byte', frame(6, 0, 0, [1]), ERROR.frameSize],
    ['a GOAWAY of one byte', frame(7, 0, 0, [1]), ERROR.frameSize],
    ['PINGs without end', repeat(frame(6, 0, 0, Array<number>(8).fill(1)), 10_001), 11],
    ['SETTINGS without end', repeat(SETTINGS, 10_001), ERROR.enhanceYourCalm],
    ['empty DATA without end', repeat(frame(0, 0, 1), 10_001), ERROR.protocol],
    [
      'headers in too many frames',
      Buffer.concat([frame(1, 1, 1), repeat(frame(9, 0, 1), 20)]),
      ERROR.enhanceYourCalm,
    ],
  ])('%s', async (_, bytes, code) => {
    const { port, received } = await scripted(bytes);
    const pool = poolTo(port, { maxSessions: 1 });
    const result = await post(pool, request(), { timeoutMs: 2000 });
    expect(result).toMatchObject({ kind: 'lost' });
    await expect.poll(() => goAwayCode(received())).toBe(code);
  });
});

test('a request that each GOAWAY calls not processed is not sent in the end', async () => {
  const goAway = frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from('maintenance')]);
  const { port } = await scripted(goAway);
  expect(await post(poolTo(port))).toEqual({
    ...{ kind: 'not_sent', message: 'the server closes the connection: NO_ERROR maintenance' },
  });
});

describe('an answer is read', () => {
  test.each<[string, Buffer]>([
    ['with padding', frame(1, 13, 1, [2, STATUS_200, 0, 0])],
    ['with a priority', frame(1, 37, 1, [0, 0, 0, 0, 16, STATUS_200])],
    [
      'in several frames',
      Buffer.concat([frame(1, 1, 1, [0x08]), frame(9, 0, 1, [3, 0x32]), frame(9, 4, 1, [48, 48])]),
    ],
    [
      'between frames of other kinds',
      Buffer.concat([
        ...[frame(2, 0, 1, [0, 0, 0, 0, 16]), frame(250, 255, 77, [1, 2, 3]), SETTINGS],
        ...[frame(4, 1, 0), frame(8, 0, 1, [0, 0, 0, 9]), frame(4, 0, 0, [9, 9, 1, 1, 1, 1]), OK],
      ]),
    ],
    ['with a padded body', Buffer.concat([frame(1, 4, 1, [STATUS_200]), frame(0, 9, 1, [1, 0])])],
  ])('%s', async (_, bytes) => {
    const { port } = await scripted(bytes);
    expect(await post(poolTo(port))).toMatchObject({ status: 200, body: '' });
  });

  test('byte by byte', async () => {
    const answer = Buffer.concat([frame(1, 4, 1, [STATUS_200]), frame(0, 1, 1, [0x6f, 0x6b])]);
    const { port } = await scripted(...[...answer].map((byte) => Buffer.of(byte)));
    expect(await post(poolTo(port))).toMatchObject({ status: 200, body: 'ok' });
  });
});

test('whatever a server sends, a request ends and the process lives', async () => {
  const byte = fc.integer({ min: 0, max: 255 });
  const frames = fc.tuple(fc.nat(10), byte, fc.nat(5), fc.array(byte, { maxLength: 30 }));
  await fc.assert(
    fc.asyncProperty(fc.array(frames, { maxLength: 20 }), async (sent) => {
      const { port } = await scripted(Buffer.concat(sent.map((one) => frame(...one))));
      const pool = poolTo(port);
      const result = await post(pool, request(), { timeoutMs: 50 });
      pool.close();
      expect(['answered', 'lost', 'not_sent']).toContain(result.kind);
      closeAll();
    }),
    { numRuns: 60 },
  );
});

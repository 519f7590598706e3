import { gzipSync, deflateSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount, readyStack, type TestAccount } from '../../support/stack.ts';
import { ask, askRaw, CORS, specified, type Sent } from './host.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const ONE = '{"status":"ok","accepted":1}';
const MALFORMED = '{"status":"error","message":"malformed JSON"}';
const MISSING = '{"status":"error","message":"missing write key"}';
const INVALID = '{"status":"error","message":"invalid write key"}';
const EVENT = { event: 'Signed up', user_id: 'u1' };

let account: TestAccount;
let serial = 0;

beforeAll(async () => {
  account = await createAccount('surface');
});

/** An event with a message id of its own. */
function fresh(event: object = EVENT): object {
  return { message_id: `surface-${process.pid}-${serial++}`, ...event };
}

async function post(path: string, body: unknown, headers: Sent['headers'] = {}) {
  return ask({ path, body, headers: { Authorization: `Bearer ${account.writeKey}`, ...headers } });
}

describe('GET /v1/status (ingest 2.7, 4.5)', () => {
  it('returns the service, the version and the time, without CORS', async () => {
    const { status, headers, text } = await ask({ method: 'GET', path: '/v1/status' });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      status: 'ok',
      service: 'collector',
      version: expect.stringMatching(/./) as string,
    });
    expect(specified(headers)).toEqual({
      'content-type': JSON_TYPE,
      'cache-control': 'no-store, no-cache, must-revalidate',
    });
    expect(Math.abs(Date.parse(String(headers['x-server-time'])) - Date.now())).toBeLessThan(
      60_000,
    );
    expect(headers['x-server-time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });
});

describe('the write key (ingest 5.1)', () => {
  const key = () => account.writeKey;
  it.each<[string, () => Sent, number, string]>([
    [
      'as Bearer',
      () => ({ path: '/v1/track', headers: { Authorization: `Bearer ${key()}` } }),
      200,
      ONE,
    ],
    [
      'as X-Service-Key',
      () => ({ path: '/v1/track', headers: { 'X-Service-Key': key() } }),
      200,
      ONE,
    ],
    ['in the query', () => ({ path: `/v1/track?write_key=${key()}` }), 200, ONE],
    [
      'another scheme falls through to the next place',
      () => ({
        path: '/v1/track',
        headers: { Authorization: `Basic ${key()}`, 'X-Service-Key': key() },
      }),
      200,
      ONE,
    ],
    [
      'a lower-case scheme falls through',
      () => ({
        path: `/v1/track?write_key=${key()}`,
        headers: { Authorization: `bearer ${key()}` },
      }),
      200,
      ONE,
    ],
    [
      'the first place wins, also with a wrong key',
      () => ({
        path: '/v1/track',
        headers: { Authorization: 'Bearer wrong', 'X-Service-Key': key() },
      }),
      401,
      INVALID,
    ],
    [
      'two spaces belong to the key',
      () => ({ path: '/v1/track', headers: { Authorization: `Bearer  ${key()}` } }),
      401,
      INVALID,
    ],
    [
      'a management key is an unknown write key',
      () => ({ path: '/v1/track', headers: { Authorization: `Bearer ${account.managementKey}` } }),
      401,
      INVALID,
    ],
    ['nowhere', () => ({ path: '/v1/track' }), 401, MISSING],
    [
      'nowhere, and no body that could be read',
      () => ({ path: '/v1/batch', body: '{' }),
      401,
      MISSING,
    ],
  ])('is accepted or refused by the place where it is sent: %s', async (_, sent, status, text) => {
    const answer = await ask({ body: fresh(), ...sent() });
    expect([answer.status, answer.text]).toEqual([status, text]);
    expect(specified(answer.headers)).toEqual({ 'content-type': JSON_TYPE, ...CORS });
  });
});

describe('single events (ingest 4.3, 7.3)', () => {
  it.each<[string, string, object, number, string]>([
    ['track', '/v1/track', EVENT, 200, ONE],
    ['track of an anonymous visitor', '/v1/track', { event: 'x', anonymous_id: 'a1' }, 200, ONE],
    ['identify', '/v1/identify', { user_id: 'u1', traits: { first_name: 'سارا' } }, 200, ONE],
    ['page', '/v1/page', { user_id: 'u1' }, 200, ONE],
    ['screen', '/v1/screen', { user_id: 'u1' }, 200, ONE],
    ['alias', '/v1/alias', { user_id: 'u1', previous_id: 'a1' }, 200, ONE],
    ['the path decides the type', '/v1/page', { user_id: 'u1', type: 'nonsense' }, 200, ONE],
    ['without an event name', '/v1/track', { user_id: 'u1' }, 400, 'missing_event_name'],
    [
      'with a blank event name',
      '/v1/track',
      { user_id: 'u1', event: ' \u00a0 ' },
      400,
      'missing_event_name',
    ],
    ['without an identity', '/v1/track', { event: 'x' }, 400, 'missing_identity'],
    [
      'with a name of 129 bytes',
      '/v1/track',
      { user_id: 'u1', event: 'x'.repeat(129) },
      400,
      'event_name_too_long',
    ],
    ['with a name of 128 bytes', '/v1/track', { user_id: 'u1', event: 'ی'.repeat(64) }, 200, ONE],
    [
      'with a control character in the name',
      '/v1/track',
      { user_id: 'u1', event: 'a\u0007b' },
      400,
      'event_name_invalid_chars',
    ],
    [
      'with a user_id of 257 bytes',
      '/v1/track',
      { user_id: 'u'.repeat(257), event: 'x' },
      400,
      'id_too_long',
    ],
    [
      'with an anonymous_id of 257 bytes',
      '/v1/track',
      { anonymous_id: 'u'.repeat(257), event: 'x' },
      400,
      'id_too_long',
    ],
    [
      'with a message_id of 257 bytes',
      '/v1/track',
      { user_id: 'u1', event: 'x', message_id: 'm'.repeat(257) },
      400,
      'id_too_long',
    ],
    ['alias without previous_id', '/v1/alias', { user_id: 'u1' }, 400, 'missing_previous_id'],
  ])('are accepted or rejected by the rules: %s', async (_, path, event, status, text) => {
    const answer = await post(path, fresh(event));
    expect([answer.status, answer.text]).toEqual([
      status,
      status === 200 ? text : JSON.stringify({ status: 'error', message: text }),
    ]);
    expect(specified(answer.headers)).toEqual({ 'content-type': JSON_TYPE, ...CORS });
  });

  it.each<[string, unknown]>([
    ['invalid JSON', '{'],
    ['an empty body', ''],
    ['an array', []],
    ['null', 'null'],
    ['a timestamp that is a number', { ...EVENT, timestamp: 1_790_000_000 }],
    ['a timestamp that is not RFC 3339', { ...EVENT, timestamp: '2026-11-21 10:00:00' }],
    ['a sent_at that is not RFC 3339', { ...EVENT, sent_at: 'now' }],
    ['a user_id that is a number', { event: 'x', user_id: 5 }],
    ['properties that are an array', { ...EVENT, properties: [] }],
  ])('answers %s with malformed JSON', async (_, body) => {
    const answer = await post('/v1/track', body);
    expect([answer.status, answer.text]).toEqual([400, MALFORMED]);
  });

  it('ignore the Content-Type', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'nonsense;;=',
      '',
    ])
      expect((await post('/v1/track', fresh(), { 'Content-Type': type })).text).toBe(ONE);
  });

  it('are answered with warnings; field and note only where they apply (ingest 2.6)', async () => {
    const { text } = await post('/v1/identify', {
      user_id: 'u1',
      timestamp: '2100-01-01T00:00:00Z',
      traits: { phone: '12', national_id: '1' },
    });
    const { status, accepted, warnings } = JSON.parse(text) as {
      status: string;
      accepted: number;
      warnings: { code: string }[];
    };
    expect([status, accepted]).toEqual(['ok', 1]);
    expect(warnings.map(({ code }) => code).sort()).toEqual([
      'generated_message_id',
      'invalid_national_id',
      'invalid_phone',
      'timestamp_in_future',
    ]);
    for (const warning of warnings) expect(Object.values(warning)).not.toContain('');
  });

  it('are clamped with a warning when they are older than the window (ingest 2.4)', async () => {
    const { text } = await post(
      '/v1/track',
      fresh({ ...EVENT, timestamp: '2001-01-01T00:00:00Z' }),
    );
    expect(
      (JSON.parse(text) as { warnings: { code: string }[] }).warnings.map(({ code }) => code),
    ).toEqual(['timestamp_too_old']);
  });

  it('are answered alike when they are duplicates (ingest 2.5)', async () => {
    const event = fresh();
    for (let times = 0; times < 3; times++)
      expect(await post('/v1/track', event).then(({ status, text }) => [status, text])).toEqual([
        200,
        ONE,
      ]);
  });
});

describe('POST /v1/batch (ingest 4.4)', () => {
  const item = (more: object = {}) => ({ type: 'track', ...fresh(), ...more });

  it.each<[string, () => unknown, number, object]>([
    [
      'valid items',
      () => ({
        batch: [item(), item({ type: 'page' }), item({ type: 'alias', previous_id: 'p' })],
      }),
      200,
      { status: 'ok', accepted: 3 },
    ],
    [
      'an invalid item does not affect the valid ones',
      () => ({
        batch: [
          item(),
          item({ type: 'order' }),
          item({ event: '' }),
          item({ user_id: '' }),
          item(),
        ],
      }),
      200,
      {
        status: 'ok',
        accepted: 2,
        rejected: 3,
        errors: [
          { index: 1, reason: 'unknown_type: "order"' },
          { index: 2, reason: 'missing_event_name' },
          { index: 3, reason: 'missing_identity' },
        ],
      },
    ],
    [
      'only bad items',
      () => ({ batch: [item({ type: 'x' })] }),
      200,
      { status: 'ok', rejected: 1, errors: [{ index: 0, reason: 'unknown_type: "x"' }] },
    ],
    [
      'without a type',
      () => ({ batch: [item({ type: undefined })] }),
      200,
      { status: 'ok', rejected: 1, errors: [{ index: 0, reason: 'unknown_type: ""' }] },
    ],
    ['no items', () => ({ batch: [] }), 400, { status: 'error', message: 'batch_empty' }],
    ['no batch', () => ({}), 400, { status: 'error', message: 'batch_empty' }],
    [
      '500 items',
      () => ({ batch: Array.from({ length: 500 }, () => item()) }),
      200,
      { status: 'ok', accepted: 500 },
    ],
    [
      '501 items',
      () => ({ batch: Array.from({ length: 501 }, () => item()) }),
      400,
      { status: 'error', message: 'batch_too_large: 501 items, limit 500' },
    ],
    [
      'a batch that is no array',
      () => ({ batch: {} }),
      400,
      { status: 'error', message: 'malformed JSON' },
    ],
    [
      'an item that is no object',
      () => ({ batch: [item(), 5] }),
      400,
      { status: 'error', message: 'malformed JSON' },
    ],
    [
      'one unreadable time fails the whole request',
      () => ({ batch: [item(), item({ timestamp: 5 })] }),
      400,
      { status: 'error', message: 'malformed JSON' },
    ],
  ])(
    'is answered with the counts or the error of the specification: %s',
    async (_, body, status, expected) => {
      const answer = await post('/v1/batch', body());
      expect([answer.status, JSON.parse(answer.text)]).toEqual([status, expected]);
    },
  );

  it('counts duplicates within accepted, including repeats within the batch', async () => {
    const [held, twice] = [item(), item()];
    await post('/v1/track', held);
    const answer = await post('/v1/batch', { batch: [held, twice, twice, item()] });
    expect(JSON.parse(answer.text)).toEqual({ status: 'ok', accepted: 4, duplicates: 2 });
  });

  it('lists at most fifty warnings', async () => {
    const answer = await post('/v1/batch', {
      batch: Array.from({ length: 60 }, () => item({ message_id: undefined })),
    });
    expect((JSON.parse(answer.text) as { warnings: unknown[] }).warnings.length).toBe(50);
  });

  it('accepts people of every partition, escapes, white space and bytes that are not UTF-8', async () => {
    const people = Array.from({ length: 60 }, (_, at) =>
      item({ user_id: `کاربر ${at}`, properties: { 'a"b\\': ']}', at } }),
    );
    expect(
      JSON.parse(
        (await post('/v1/batch', JSON.stringify({ context: {}, batch: people }, undefined, 1)))
          .text,
      ),
    ).toEqual({
      status: 'ok',
      accepted: 60,
    });
    const odd = Buffer.concat([
      Buffer.from(`{"batch":[${JSON.stringify(item())},{"type":"track","event":"`),
      Buffer.of(0xe2, 0x28),
      Buffer.from(`","user_id":"x","message_id":"odd-${Date.now()}"}]}`),
    ]);
    expect(JSON.parse((await post('/v1/batch', odd)).text)).toEqual({ status: 'ok', accepted: 2 });
  });
});

describe('bodies (ingest 4.1, 8)', () => {
  const LIMIT = 5_242_880;
  const TOO_LARGE = '{"status":"error","message":"request body too large"}';
  const padded = (bytes: number) => {
    const head = JSON.stringify(fresh());
    return Buffer.from(`${head}${' '.repeat(bytes - Buffer.byteLength(head))}`);
  };

  it.each([
    ['of the limit are accepted', LIMIT, 200, ONE],
    ['of one byte more are refused with 413', LIMIT + 1, 413, TOO_LARGE],
  ])('%s', async (_, bytes, status, text) => {
    const answer = await post('/v1/track', padded(bytes));
    expect([answer.status, answer.text]).toEqual([status, text]);
    expect(specified(answer.headers)).toEqual({ 'content-type': JSON_TYPE, ...CORS });
    expect(answer.headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
  });

  it('without Content-Length are measured while they arrive', async () => {
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const head = `POST /v1/track HTTP/1.1\r\nHost: x\r\nX-Service-Key: ${account.writeKey}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const answer = await askRaw(`${head}${chunk.repeat(Math.ceil(LIMIT / 0x4000) + 1)}0\r\n\r\n`);
    expect(answer).toContain('HTTP/1.1 413');
    expect(answer).toContain(TOO_LARGE);
  });

  it('are decoded from gzip, with the limit on the decoded size', async () => {
    const gzip = { 'Content-Encoding': 'gzip' };
    expect((await post('/v1/track', gzipSync(JSON.stringify(fresh())), gzip)).text).toBe(ONE);
    expect((await post('/v1/track', gzipSync(padded(LIMIT)), gzip)).text).toBe(ONE);
    const over = await post('/v1/track', gzipSync(padded(LIMIT + 1)), gzip);
    expect([over.status, over.text]).toEqual([413, TOO_LARGE]);
    const bomb = await post('/v1/track', gzipSync(Buffer.alloc(200 * 1024 * 1024)), gzip);
    expect([bomb.status, bomb.text]).toEqual([413, TOO_LARGE]);
  });

  it.each<[string, () => Buffer, string]>([
    ['an invalid gzip', () => Buffer.from(JSON.stringify(fresh())), 'gzip'],
    ['a truncated gzip', () => gzipSync(JSON.stringify(fresh())).subarray(0, 30), 'gzip'],
    ['deflate', () => deflateSync(JSON.stringify(fresh())), 'deflate'],
    ['brotli', () => Buffer.from('x'), 'br'],
    ['two encodings', () => gzipSync(gzipSync(JSON.stringify(fresh()))), 'gzip, gzip'],
  ])('are refused with 400 for %s', async (_, body, encoding) => {
    const answer = await post('/v1/track', body(), { 'Content-Encoding': encoding });
    expect([answer.status, answer.text]).toEqual([400, MALFORMED]);
  });
});

describe('paths and methods (ingest 4.1, 4.2)', () => {
  it.each([
    ['OPTIONS', '/v1/track', 204, CORS],
    ['OPTIONS', '/v1/anything/at/all', 204, CORS],
    ['GET', '/v1/track', 405, { 'content-type': JSON_TYPE, ...CORS }],
    ['PUT', '/v1/batch', 405, { 'content-type': JSON_TYPE, ...CORS }],
    ['POST', '/v1/status', 405, { 'content-type': JSON_TYPE }],
    ['POST', '/v1/unknown', 405, { 'content-type': JSON_TYPE }],
    ['GET', '/v1/', 405, { 'content-type': JSON_TYPE }],
    ['POST', '/v1/track/', 405, { 'content-type': JSON_TYPE }],
    ['POST', '/V1/track', 404, { 'content-type': 'text/plain; charset=utf-8' }],
    ['POST', '/api/v1/track', 404, { 'content-type': 'text/plain; charset=utf-8' }],
    ['GET', '/', 404, { 'content-type': 'text/plain; charset=utf-8' }],
    ['GET', '/v1', 404, { 'content-type': 'text/plain; charset=utf-8' }],
  ])('answer %s %s with %i', async (method, path, status, headers) => {
    const answer = await ask({ method, path, ...(method === 'POST' ? { body: '{}' } : {}) });
    expect(answer.status).toBe(status);
    expect(specified(answer.headers)).toEqual(headers);
    if (status === 204) expect(answer.text).toBe('');
    if (status === 405)
      expect(JSON.parse(answer.text)).toEqual({ status: 'error', message: 'method not allowed' });
    expect(answer.headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
  });

  it('accept an escaped path and an absolute URL', async () => {
    expect((await post('/v1/%74rack', fresh())).text).toBe(ONE);
    expect((await post(`${readyStack().ingest_url}/v1/track?x=1`, fresh())).text).toBe(ONE);
  });
});

describe('the trace (ingest 7.5)', () => {
  it.each([
    ['deadbeef', true],
    ['a'.repeat(64), true],
    ['a'.repeat(65), false],
    ['DEADBEEF', false],
    ['deadbee', false],
  ])('sent as %s is echoed: %s', async (trace, isEchoed) => {
    for (const path of ['/v1/track', '/v1/status', '/nowhere', '/v1/nowhere']) {
      const { headers } = await ask({ path, body: fresh(), headers: { 'X-Service-Trace': trace } });
      if (isEchoed) expect(headers['x-service-trace']).toBe(trace);
      else expect(headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
    }
  });

  it('is the end of the trace-id of a valid traceparent, in 16 characters', async () => {
    const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    for (const path of ['/v1/track', '/v1/status', '/nowhere', '/v1/nowhere']) {
      const traceOf = async (sent: Record<string, string>) =>
        (await ask({ path, body: fresh(), headers: sent })).headers['x-service-trace'];
      expect(await traceOf({ traceparent: parent })).toBe('a3ce929d0e0e4736');
      expect(await traceOf({ traceparent: parent, 'X-Service-Trace': 'deadbeef' })).toBe(
        'deadbeef',
      );
      expect(await traceOf({ traceparent: parent.replace('4736', '473X') })).toMatch(
        /^(?!a3ce929d)[0-9a-f]{16}$/,
      );
    }
  });

  it.each([
    ['bytes that are not HTTP', 'hello\r\n\r\n', 400],
    ['endless headers', `GET /v1/status HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    [
      'an invalid Content-Length',
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
      400,
    ],
    [
      'two Content-Length headers',
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
    ],
    ['no Host', 'GET /v1/status HTTP/1.1\r\nConnection: close\r\n\r\n', 200],
    [
      'an expectation',
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      401,
    ],
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
  ])('is on the answer to %s', async (_, bytes, status) => {
    const answer = await askRaw(bytes);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    expect(answer).toMatch(/\r\nX-Service-Trace: [0-9a-f]{16}\r\n/);
  });
});

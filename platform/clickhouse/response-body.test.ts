import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ResponseBody } from './response-body.ts';

function read(response: Buffer, size = response.length) {
  const bytes: Buffer[] = [];
  const body = new ResponseBody((part) => bytes.push(Buffer.from(part)));
  for (let at = 0; at < response.length; at += size) body.read(response.subarray(at, at + size));
  return { body, bytes: Buffer.concat(bytes) };
}

const head = (status: string, ...headers: string[]) =>
  Buffer.from([`HTTP/1.1 ${status}`, ...headers, '', ''].join('\r\n'));
const chunk = (bytes: Uint8Array, extension = '') =>
  Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
const CHUNKED = head('200 OK', 'Date: today', 'transfer-encoding: chunked');

it('hands on the bytes of chunks, however the connection cuts them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 })),
      fc.integer({ min: 1, max: 50 }),
      fc.constantFrom('', ';name=value'),
      (parts, size, extension) => {
        const chunks = parts.map((part) => chunk(part, extension));
        const { body, bytes } = read(
          Buffer.concat([CHUNKED, ...chunks, Buffer.from('0\r\nTrailer: x\r\n\r\n')]),
          size,
        );
        expect(body.isComplete).toBe(true);
        expect(bytes).toEqual(Buffer.concat(parts));
      },
    ),
  );
});

it('a result without its last chunk is not complete', () => {
  const whole = Buffer.concat([CHUNKED, chunk(Buffer.from('abc')), Buffer.from('0\r\n\r\n')]);
  expect(read(whole).body.isComplete).toBe(true);
  for (let cut = 1; cut < 8; cut++)
    expect(read(whole.subarray(0, whole.length - cut)).body.isComplete).toBe(false);
});

it.each([1, 5, 1000])('keeps the text of an error, in pieces of %i bytes', (size) => {
  const text = Buffer.from('Code: 62. DB::Exception: Syntax error');
  const length = head('400 Bad Request', `Content-Length: ${text.length}`);
  const { body, bytes } = read(Buffer.concat([length, text]), size);
  expect([body.isComplete, body.status, body.text()]).toEqual([true, 400, text.toString()]);
  expect(bytes).toHaveLength(0);
});

it('an answer may have no body', () => {
  expect(read(head('200 OK', 'Content-Length: 0')).body.isComplete).toBe(true);
});

it.each([
  ['no HTTP at all\r\n', /no HTTP response: no HTTP/],
  [`${CHUNKED.toString()}zz\r\n`, /no size of a chunk: zz/],
  [`HTTP/1.1 200 OK\r\n${'x'.repeat(70_000)}`, /no HTTP response/],
])('refuses %j', (response, message) => {
  expect(() => read(Buffer.from(response))).toThrow(message);
});

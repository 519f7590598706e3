import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseHead } from './parse-head.ts';

const common = [
  'POST /v1/track HTTP/1.1',
  'Host: x',
  'Authorization: Bearer k',
  'Content-Length: 2',
];
const bytesOf = (lines: readonly string[]) =>
  Buffer.from(`${lines.join('\r\n')}\r\n\r\n{}`, 'latin1');

describe('the head of a common request', () => {
  it('is parsed', () => {
    const lines = [
      'POST /v1/batch?write_key=k&x=1 HTTP/1.1',
      'x-service-KEY: \t k ',
      'User-Agent: caf\xe9 1.0',
      'Origin: https://shop.example',
      'X-Service-Trace: 0123456789abcdef',
      'Traceparent: 00-x',
      'X-Forwarded-For: 1.1.1.1, 10.0.0.1',
      'Connection: keep-alive',
      'Content-Type: text/plain',
      'content-length: 2',
    ];
    expect(parseHead(bytesOf(lines))).toEqual({
      bytes: bytesOf(lines).length - 2,
      path: '/v1/batch',
      query: 'write_key=k&x=1',
      contentLength: 2,
      authorization: undefined,
      serviceKey: 'k',
      userAgent: 'caf\xe9 1.0',
      origin: 'https://shop.example',
      trace: '0123456789abcdef',
      traceparent: '00-x',
      forwardedFor: '1.1.1.1, 10.0.0.1',
    });
  });

  it.each([
    ['another method', ['GET /v1/track HTTP/1.1', ...common.slice(1)]],
    ['another version', ['POST /v1/track HTTP/1.0', ...common.slice(1)]],
    ['an absolute form', ['POST http://x/v1/track HTTP/1.1', ...common.slice(1)]],
    ['an escaped path', ['POST /v1/%74rack HTTP/1.1', ...common.slice(1)]],
    ['two spaces', ['POST  /v1/track HTTP/1.1', ...common.slice(1)]],
    ['no length', common.slice(0, 3)],
    ['two lengths', [...common, 'Content-Length: 2']],
    ['a signed length', [...common.slice(0, 3), 'Content-Length: +2']],
    ['a list of lengths', [...common.slice(0, 3), 'Content-Length: 2, 2']],
    ['a long length', [...common.slice(0, 3), 'Content-Length: 0000000002']],
    ['chunks', [...common, 'Transfer-Encoding: chunked']],
    ['an encoding', [...common, 'Content-Encoding: gzip']],
    ['an expectation', [...common, 'Expect: 100-continue']],
    ['an upgrade', [...common, 'Upgrade: h2c']],
    ['an ending connection', [...common, 'Connection: close']],
    ['two keys', [...common, 'Authorization: Bearer other']],
    ['a space before the colon', [...common, 'Origin : x']],
    ['a folded line', [...common, 'Origin: x', ' y']],
    ['a bare line feed', [...common, 'Origin: x\nContent-Length: 9']],
    ['a bare carriage return', [...common, 'Origin: x\ry']],
    ['a NUL', [...common, 'Origin: x\0']],
    ['no name', [...common, ': x']],
    ['no colon', [...common, 'Origin']],
    ['many headers', [...common, ...Array.from({ length: 101 }, (_, at) => `a${at}: x`)]],
    ['a length that ends in a no-break space', [...common.slice(0, 3), 'Content-Length: 2\xa0']],
    ['an ending connection of a proxy', [...common, 'Proxy-Connection: close']],
    ['a long head', [...common, `Cookie: ${'x'.repeat(9000)}`]],
  ])('is left to node:http with %s', (_, lines) =>
    expect(parseHead(bytesOf(lines))).toBeUndefined(),
  );

  it('keeps what is not a space or a tab at the ends of a value, as node:http does', () => {
    const head = parseHead(bytesOf([...common, 'User-Agent:\t \xa0caf\xe9\xa0 \t', 'Origin:  \t']));
    expect([head?.userAgent, head?.origin]).toEqual(['\xa0caf\xe9\xa0', '']);
  });

  it('goes to node:http when it is incomplete', () => {
    const whole = bytesOf(common);
    for (let length = 0; length < whole.length - 2; length++)
      expect(parseHead(whole.subarray(0, length))).toBeUndefined();
    expect(parseHead(whole.subarray(0, whole.length - 2))).toBeDefined();
  });

  it('never throws and never reads beyond its bytes', () => {
    const pieces = fc.array(
      fc.constantFrom(
        ...common,
        'POST ',
        '/v1/track',
        ' HTTP/1.1',
        '\r\n',
        '\r\n\r\n',
        ':',
        '\n',
        '\0',
        '\xff',
        'Content-Length',
        '9',
      ),
      {
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        const bytes = Buffer.from(parts.join(''), 'latin1');
        expect(parseHead(bytes)?.bytes ?? 0).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 500 },
    );
  });
});

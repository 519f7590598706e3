import { gzipSync } from 'node:zlib';
import fc from 'fast-check';

/** What a client sends on one connection. Texts are latin1. */
export interface ByteStream {
  /** Is sent piece by piece. */
  pieces: readonly string[];
  /** Sends a request behind it, and its FIN after the answer; otherwise the FIN comes at once. */
  isProbed: boolean;
}

/** Bodies above this are answered 413 by the hosts of the comparison. */
export const MAX_BODY_BYTES = 2000;
/** Replaced by the number of the stream, so that its requests are known. */
export const STREAM = '@@@@@@';

/** A request with it has this trace, unless it has one of its own. */
export const OF_PARENT = 'a3ce929d0e0e4736';
const TRACEPARENT = `00-4bf92f3577b34da6${OF_PARENT}-00f067aa0ba902b7-01`;
const GZIP = gzipSync('{"a":1}').toString('latin1');

const weighted = <T>(...options: readonly (readonly [weight: number, fc.Arbitrary<T>])[]) =>
  fc.oneof(...options.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const requestLine = weighted(
  [12, fc.constantFrom('POST /v1/track HTTP/1.1', 'POST /v1/batch HTTP/1.1')],
  [
    2,
    fc.constantFrom(
      `POST /v1/track?write_key=good-${STREAM} HTTP/1.1`,
      'POST /v1/alias?a=%zz#b HTTP/1.1',
    ),
  ],
  [
    4,
    fc.constantFrom(
      'GET /v1/status HTTP/1.1',
      'HEAD /v1/status HTTP/1.1',
      'GET /v1/track HTTP/1.1',
      'OPTIONS /v1/track HTTP/1.1',
      'PUT /v1/track HTTP/1.1',
      'POST /v1/nowhere HTTP/1.1',
      'POST /v1/ HTTP/1.1',
      'POST / HTTP/1.1',
      'POST /v1/%74rack HTTP/1.1',
      'POST /v1/Track HTTP/1.1',
      'POST /v1/track/ HTTP/1.1',
      'POST http://x/v1/track HTTP/1.1',
      'POST //v1/track HTTP/1.1',
      'POST /v1/track HTTP/1.0',
      'POST /v1/track HTTP/1.2',
      'POST /v1/track HTTP/2.0',
      'POST /v1/track http/1.1',
      'post /v1/track HTTP/1.1',
      'POST  /v1/track HTTP/1.1',
      'POST /v1/track  HTTP/1.1',
      'POST\t/v1/track HTTP/1.1',
      'POST /v1/track HTTP/1.1 ',
      'POST /v1/tr\xe9ck HTTP/1.1',
      'POST /v1/track?\xa0 HTTP/1.1',
      'POST /v1/track',
      'CONNECT x:1 HTTP/1.1',
      'PRI * HTTP/2.0',
      '\r\nPOST /v1/track HTTP/1.1',
      '\nPOST /v1/track HTTP/1.1',
      ' POST /v1/track HTTP/1.1',
    ),
  ],
);

const keyHeader = weighted(
  [10, fc.constantFrom(`X-Service-Key: good-${STREAM}`, `Authorization: Bearer good-${STREAM}`)],
  [2, fc.constant(`X-Service-Key: late-${STREAM}`)],
  [
    3,
    fc.constantFrom(
      '',
      'X-Service-Key: gone',
      'X-Service-Key: down',
      'X-Service-Key: wrong',
      'X-Service-Key:',
      `Authorization: bearer good-${STREAM}`,
      'Authorization: Bearer ',
      `X-Service-Key: good-${STREAM}\r\nX-Service-Key: wrong`,
      `Authorization: Basic x\r\nX-Service-Key: good-${STREAM}`,
      `Authorization: Bearer wrong\r\nAuthorization: Bearer good-${STREAM}`,
    ),
  ],
);

/** Headers and what should not be one. */
const extraHeader = weighted(
  [
    6,
    fc.constantFrom(
      'Host: shop.example',
      'Accept: */*',
      'Content-Type: application/json',
      'User-Agent: caf\xe9 1.0',
      'User-Agent: \xa0x\xa0',
      'User-Agent:\t x \t',
      'Origin: https://shop.example',
      'Origin:',
      'X-Forwarded-For: 1.2.3.4, 10.0.0.1',
      'X-Service-Trace: 0123456789abcdef0123',
      'X-Service-Trace: 0123456789ABCDEF',
      `traceparent: ${TRACEPARENT}`,
      'TraceParent: 00-0-0-01',
      'Connection: keep-alive',
      'CONNECTION:   Keep-Alive  ',
      'Cookie: a=b; c=d',
    ),
  ],
  [
    3,
    fc.constantFrom(
      'Connection: close',
      'Connection: upgrade',
      'Connection: keep-alive, close',
      'Proxy-Connection: close',
      'Proxy-Connection: keep-alive',
      'Upgrade: h2c',
      'Expect: 100-continue',
      'Expect: something',
      'TE: trailers',
      'Trailer: X-A',
      'Content-Encoding: gzip',
      'Content-Encoding: identity',
      'Content-Encoding: br',
      'Transfer-Encoding: chunked',
      'Transfer-Encoding: gzip, chunked',
      'Transfer-Encoding: identity',
      'Content-Length: 3',
      'Origin: a\r\n b',
      'Origin: a\r\n\tb',
      'Origin: a\0b',
      'Origin: a\nb',
      'Origin: a\rb',
      'Origin: a\x7fb',
      'Origin : a',
      'Origin\xa0: a',
      ': a',
      'Origin',
      'a:b:c',
      `X-${'n'.repeat(300)}: ${' '.repeat(300)}v`,
      `Cookie: ${'c'.repeat(8300)}`,
      `Cookie: ${'c'.repeat(17_000)}`,
      Array.from({ length: 120 }, (_, at) => `X-${at}: ${at}`).join('\r\n'),
      Array.from({ length: 1100 }, () => 'x:').join('\r\n'),
    ),
  ],
);

/** The first character decides what the service does with it. */
const body = weighted(
  [8, fc.constantFrom('{}', 'a', 'slow', 'error', 'quota', 'malformed', 'warned', 'long')],
  [1, fc.constant('')],
  [2, fc.integer({ min: 0, max: MAX_BODY_BYTES + 3 }).map((length) => 'x'.repeat(length))],
  [
    1,
    fc.constantFrom(MAX_BODY_BYTES, MAX_BODY_BYTES + 1, 70_000).map((length) => 'y'.repeat(length)),
  ],
  [1, fc.constantFrom(GZIP, GZIP.slice(0, -4), '3\r\nabc\r\n0\r\n\r\n', 'POST / HTTP/1.1\r\n\r\n')],
);

type Framing = (body: string) => { header: string; text: string };
const chunked = (text: string) =>
  text === '' ? '0\r\n\r\n' : `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
const withLength =
  (value: (length: number) => string): Framing =>
  (text) => ({
    header: `Content-Length: ${value(text.length)}`,
    text,
  });
const FRAMINGS: readonly Framing[] = [
  (text) => ({ header: 'Transfer-Encoding: chunked', text: chunked(text) }),
  (text) => ({ header: 'Transfer-Encoding: chunked', text: `zz\r\n${text}` }),
  (text) => ({ header: '', text }),
  (text) => ({
    header: `Content-Length: ${text.length}\r\nTransfer-Encoding: chunked`,
    text: chunked(text),
  }),
  ...[
    (length: number) => `${length}\r\nContent-Length: ${length}`,
    (length: number) => `${length}\r\nContent-Length: ${length + 1}`,
    (length: number) => `${length}, ${length}`,
    (length: number) => `+${length}`,
    (length: number) => `-${length}`,
    (length: number) => ` \t${length} \t`,
    (length: number) => `${length}\xa0`,
    (length: number) => `0${length}`,
    (length: number) => `${'0'.repeat(9)}${length}`,
    (length: number) => `0x${length}`,
    (length: number) => `${length}.0`,
    (length: number) => `${length + 1}`,
    (length: number) => `${Math.max(0, length - 1)}`,
    () => '',
    () => '99999999999999999999',
    () => '999999999',
  ].map(withLength),
];
const framing = weighted<Framing>(
  [14, fc.constant(withLength(String))],
  [3, fc.constantFrom(...FRAMINGS)],
);

const asWritten = (text: string) => text;
/** The case of the names of headers. */
const casing = fc.constantFrom(
  asWritten,
  (text: string) => text.replace(/^[^:]*/, (name) => name.toLowerCase()),
  (text: string) => text.replace(/^[^:]*/, (name) => name.toUpperCase()),
);
const endOfLine = weighted([30, fc.constant('\r\n')], [1, fc.constantFrom('\n', '\r', '\r\r\n')]);

const request = fc
  .record({
    ...{ requestLine, keyHeader, body, framing, casing, endOfLine },
    extra: fc.array(extraHeader, { maxLength: 4 }),
  })
  .map(({ requestLine: line, keyHeader: key, ...parts }) => {
    const { header, text } = parts.framing(parts.body);
    const headers = [key, ...parts.extra, header].filter((one) => one !== '').map(parts.casing);
    return `${[line, ...headers].join(parts.endOfLine)}${parts.endOfLine.repeat(2)}${text}`;
  });

/** The same request several times, as clients send it. */
const repeated = fc
  .tuple(request, fc.integer({ min: 2, max: 4 }))
  .map(([one, times]) => one.repeat(times));

/** Changes a byte, drops bytes, adds bytes, or cuts the rest off. */
const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  dropped: fc.constantFrom(0, 1, 5, Infinity),
  added: fc.constantFrom('', '\0', '\r', '\n', '\r\n', ' ', ':', 'x', '\xa0', '\xff', 'HTTP'),
});

const trailing = weighted(
  [8, fc.constant('')],
  [
    2,
    fc.constantFrom('\r\n', '\r\n\r\n', 'garbage', 'garbage\r\n\r\n', 'POST', '\0', '\x16\x03\x01'),
  ],
);

export const byteStreams: fc.Arbitrary<ByteStream> = fc
  .record({
    requests: fc.array(weighted([4, request], [1, repeated]), { minLength: 1, maxLength: 4 }),
    trailing,
    damages: fc.array(damage, { maxLength: 3 }),
    isDamaged: fc.nat({ max: 3 }).map((one) => one === 0),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
    isProbed: fc.boolean(),
  })
  .map(({ requests, isDamaged, damages, cuts, isProbed, ...parts }) => {
    let text = requests.join('') + parts.trailing;
    for (const { at, dropped, added } of isDamaged ? damages : []) {
      const place = Math.floor(at * text.length);
      text = text.slice(0, place) + added + text.slice(place + dropped);
    }
    const places = [...new Set(cuts.map((cut) => Math.floor(cut * text.length)))].sort(
      (a, b) => a - b,
    );
    const pieces = [0, ...places].map((place, index) => text.slice(place, places[index]));
    return { pieces: pieces.filter((piece) => piece !== ''), isProbed };
  });

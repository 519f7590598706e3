import type { SeededRandom } from './seeded-random.ts';
import type { RawInput } from './exchange.ts';

interface Making {
  random: SeededRandom;
  writeKey: string;
  /** A new trace, to know the answer and the rows by. */
  trace: () => string;
}

const SLOW_MS = 25_000;

/**
 * Requests that no HTTP library would send: lengths that lie, chunks that lie, headers without end,
 * several requests in one go, clients that leave.
 */
export function rawInput(making: Making): RawInput {
  const { random } = making;
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
  const kind = random.pick(kinds);
  return { kind: `raw: ${kind}`, ...KINDS[kind](making) };
}

const event = (random: SeededRandom) =>
  `{"event":"raw","user_id":"u${random.below(9)}","message_id":"${random.hex(24)}"}`;

function head({ writeKey, trace }: Making, ...lines: string[]): string {
  return [
    'POST /v1/track HTTP/1.1',
    'Host: x',
    `X-Service-Key: ${writeKey}`,
    `X-Service-Trace: ${trace()}`,
    ...lines,
    '',
    '',
  ].join('\r\n');
}

const whole = (making: Making, ...lines: string[]) => {
  const body = event(making.random);
  return `${head(making, `Content-Length: ${body.length}`, ...lines)}${body}`;
};

const KINDS = {
  'a length that lies': (making) => {
    const body = event(making.random);
    const length = making.random.pick([
      '0',
      '1',
      `${body.length - 1}`,
      `${body.length + 1}`,
      '-1',
      '1e3',
      '0x10',
      '99999999999999999999',
      '5242881',
      ' 7 ',
      '',
    ]);
    return {
      pieces: [{ bytes: `${head(making, `Content-Length: ${length}`)}${body}` }],
      isHalfClosed: true,
    };
  },
  'two lengths': (making) => ({
    pieces: [{ bytes: `${head(making, 'Content-Length: 3', 'Content-Length: 4')}{}x` }],
  }),
  'a length and chunks': (making) => ({
    pieces: [
      {
        bytes: `${head(making, 'Content-Length: 3', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
      },
    ],
  }),
  chunks: (making) => {
    const body = event(making.random);
    const at = making.random.below(body.length);
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
    return {
      pieces: [
        {
          bytes: `${head(making, 'Transfer-Encoding: chunked')}${chunk(body.slice(0, at) || ' ')}${chunk(body.slice(at))}0\r\n\r\n`,
        },
      ],
    };
  },
  'chunks that lie': (making) => {
    const bad = making.random.pick([
      'zz\r\n{}\r\n',
      '-1\r\n{}\r\n',
      'ffffffffffffffff\r\n{}\r\n',
      '2;x=' + 'y'.repeat(20_000) + '\r\n{}\r\n',
      '2\n{}\n',
      '5\r\n{}\r\n0\r\n\r\n',
    ]);
    return {
      pieces: [{ bytes: `${head(making, 'Transfer-Encoding: chunked')}${bad}` }],
      isHalfClosed: true,
    };
  },
  'another transfer encoding': (making) => ({
    pieces: [
      {
        bytes: `${head(making, `Transfer-Encoding: ${making.random.pick(['gzip', 'identity', 'chunked, gzip', 'chunked, chunked', 'xchunked'])}`)}{}`,
      },
    ],
    isHalfClosed: true,
  }),
  'huge headers': (making) => ({
    pieces: [
      {
        bytes: head(
          making,
          `X-Big: ${'x'.repeat(making.random.pick([15_000, 17_000, 100_000]))}`,
          'Content-Length: 0',
        ),
      },
    ],
  }),
  'many headers': (making) => ({
    pieces: [
      {
        bytes: head(
          making,
          ...Array.from({ length: making.random.pick([500, 3000]) }, (_, n) => `X-${n}: ${n}`),
          'Content-Length: 0',
        ),
      },
    ],
  }),
  'odd header bytes': (making) => ({
    pieces: [
      {
        bytes: Buffer.from(
          head(
            making,
            `X-Odd: ${making.random.pick(['\u0000', '\u0001', '\u00ff', 'a\rb', 'a\nb'])}`,
            'Content-Length: 0',
          ),
          'latin1',
        ),
      },
    ],
  }),
  'odd first lines': ({ random }) => ({
    pieces: [
      {
        bytes: `${random.pick(['GET', 'POST /v1/track', 'POST  /v1/track HTTP/1.1', 'POST /v1/track HTTP/9.9', 'BREW /v1/track HTTP/1.1', 'PRI * HTTP/2.0', '\u0016\u0003\u0001', 'POST http://[::1 HTTP/1.1', 'OPTIONS * HTTP/1.1'])}\r\nHost: x\r\n\r\n`,
      },
    ],
    isHalfClosed: true,
  }),
  pipelined: (making) => ({
    pieces: [
      { bytes: Array.from({ length: 1 + making.random.below(8) }, () => whole(making)).join('') },
    ],
  }),
  'pipelined behind a broken one': (making) => ({
    pieces: [
      { bytes: `${whole(making)}${head(making, 'Content-Length: 5')}{"a":${whole(making)}` },
    ],
  }),
  'half closed, whole': (making) => ({ pieces: [{ bytes: whole(making) }], isHalfClosed: true }),
  'half closed, cut': (making) => {
    const bytes = whole(making);
    return {
      pieces: [{ bytes: bytes.slice(0, making.random.below(bytes.length)) }],
      isHalfClosed: true,
    };
  },
  'gone, whole': (making) => ({ pieces: [{ bytes: whole(making) }], isBroken: true }),
  'gone, cut': (making) => {
    const bytes = whole(making);
    return {
      pieces: [{ bytes: bytes.slice(0, making.random.below(bytes.length)) }],
      isBroken: true,
    };
  },
  'in small pieces': (making) => {
    const bytes = whole(making);
    const size = 1 + making.random.below(80);
    return {
      pieces: Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => ({
        bytes: bytes.slice(n * size, (n + 1) * size),
        after: 1,
      })),
    };
  },
  'an upgrade': (making) => ({
    pieces: [{ bytes: whole(making, 'Connection: Upgrade', 'Upgrade: websocket') }],
  }),
  'an expectation': (making) => ({ pieces: [{ bytes: whole(making, 'Expect: 100-continue') }] }),
  noise: ({ random }) => ({
    pieces: [{ bytes: random.bytes(1 + random.below(500)) }],
    isHalfClosed: true,
  }),
} satisfies Record<string, (making: Making) => Omit<RawInput, 'kind'>>;

/**
 * Bodies and headers that come a byte at a time and never end: the host gives up on them, not the
 * client.
 */
export function slowInputs(making: Making): RawInput[] {
  const drip = (start: string): RawInput => ({
    kind: 'raw: slow',
    pieces: [{ bytes: start }, ...Array.from({ length: 60 }, () => ({ bytes: ' ', after: 500 }))],
    timeout: SLOW_MS,
  });
  return [
    ...Array.from({ length: 6 }, () => drip(head(making, 'Content-Length: 5000'))),
    ...Array.from({ length: 6 }, () => drip(`POST /v1/track HTTP/1.1\r\nX-Slow: `)),
    ...Array.from({ length: 3 }, () =>
      drip(`${head(making, 'Transfer-Encoding: chunked')}fff\r\n`),
    ),
    { kind: 'raw: silent', pieces: [{ bytes: '' }], timeout: 1000 },
  ];
}

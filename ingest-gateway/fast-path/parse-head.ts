/** What the gateway reads of a request's head. Header values are latin1, as in node:http. */
export interface Head {
  /** Bytes of the head, including the empty line. */
  bytes: number;
  path: string;
  /** What follows the question mark; empty when nothing does. */
  query: string;
  /** Bytes of the body. */
  contentLength: number;
  authorization: string | undefined;
  serviceKey: string | undefined;
  userAgent: string | undefined;
  origin: string | undefined;
  trace: string | undefined;
  forwardedFor: string | undefined;
}

/** node:http gets longer heads: it has the limits and the answers for them. */
const MAX_HEAD_BYTES = 8192;

const REQUEST_LINE = /POST (\/v1\/[a-z]+)(?:\?([!-~]*))? HTTP\/1\.1\r\n/y;
/** A header line: token, colon, value without folds (RFC 9110, 5.5; RFC 9112, 5). */
const HEADER_LINE = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t -~\x80-\xff]*)\r\n/y;
const LENGTH = /^\d{1,9}$/;

type MutableHead = { -readonly [Field in keyof Omit<Head, 'contentLength'>]: Head[Field] } & {
  contentLength: number | undefined;
};

/** The field that each header fills. */
const FIELDS: Readonly<
  Record<string, Exclude<keyof Head, 'bytes' | 'path' | 'query' | 'contentLength'>>
> = {
  authorization: 'authorization',
  'x-service-key': 'serviceKey',
  'user-agent': 'userAgent',
  origin: 'origin',
  'x-service-trace': 'trace',
  'x-forwarded-for': 'forwardedFor',
};

/** Headers that change how a message is framed, read or answered. */
const UNCOMMON = new Set([
  'transfer-encoding',
  'content-encoding',
  'expect',
  'upgrade',
  'te',
  'trailer',
]);

/**
 * Reads the head of a common request: a POST of HTTP/1.1 to a path of letters under /v1/, with a
 * plain Content-Length, each header of interest once, and nothing that changes the framing.
 * Undefined for everything else, including broken and incomplete heads: node:http answers those.
 * @param bytes begins with the request line
 */
export function parseHead(bytes: Buffer): Head | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1 || end > MAX_HEAD_BYTES) return undefined;
  const text = bytes.toString('latin1', 0, end + 2);
  REQUEST_LINE.lastIndex = 0;
  const line = REQUEST_LINE.exec(text);
  if (!line) return undefined;
  const head: MutableHead = {
    bytes: end + 4,
    path: line[1] ?? '',
    query: line[2] ?? '',
    contentLength: undefined,
    authorization: undefined,
    serviceKey: undefined,
    userAgent: undefined,
    origin: undefined,
    trace: undefined,
    forwardedFor: undefined,
  };
  HEADER_LINE.lastIndex = REQUEST_LINE.lastIndex;
  while (HEADER_LINE.lastIndex < text.length) {
    const header = HEADER_LINE.exec(text);
    if (!header || !readHeader(head, (header[1] ?? '').toLowerCase(), (header[2] ?? '').trimEnd()))
      return undefined;
  }
  const { contentLength } = head;
  return contentLength === undefined ? undefined : { ...head, contentLength };
}

/** False when the header makes the request uncommon. */
function readHeader(head: MutableHead, name: string, value: string): boolean {
  if (name === 'content-length') {
    if (head.contentLength !== undefined || !LENGTH.test(value)) return false;
    head.contentLength = Number(value);
    return true;
  }
  if (name === 'connection') return value.toLowerCase() === 'keep-alive';
  if (UNCOMMON.has(name)) return false;
  const field = FIELDS[name];
  if (field === undefined) return true;
  if (head[field] !== undefined) return false;
  head[field] = value;
  return true;
}

import { headerAt, type TextField } from './head-fields.ts';

/** What the gateway reads of a request's head. Header values are latin1, as in node:http. */
export interface Head extends Readonly<Record<TextField, string | undefined>> {
  /** Bytes of the head, including the empty line. */
  bytes: number;
  path: string;
  /** What follows the question mark; empty when nothing does. */
  query: string;
  /** Bytes of the body. */
  contentLength: number;
}

/** node:http gets longer heads: it has the limits and the answers for them. */
export const MAX_HEAD_BYTES = 8192;
/** And heads with more headers: node:http drops those behind the first thousand. */
const MAX_HEADERS = 100;
const MAX_LENGTH_DIGITS = 9;

const [TAB, LF, CR, SPACE, COLON, QUESTION_MARK] = [0x09, 0x0a, 0x0d, 0x20, 0x3a, 0x3f];
const START = Buffer.from('POST /v1/');
const END = Buffer.from(' HTTP/1.1\r\n');

/** 1 for each byte that the expression matches. */
function bytesThat(match: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) =>
    match.test(String.fromCharCode(byte)) ? 1 : 0,
  );
}

const IN_PATH = bytesThat(/[a-z]/);
const IN_QUERY = bytesThat(/[!-~]/);
/** RFC 9110, 5.6.2 and 5.5; a value has no folds (RFC 9112, 5.2). */
const IN_NAME = bytesThat(/[!#$%&'*+\-.^_`|~0-9A-Za-z]/);
const IN_VALUE = bytesThat(/[\t -~\x80-\xff]/);

type MutableHead = { -readonly [Field in keyof Head]: Head[Field] };

/**
 * Reads the head of a common request: a POST of HTTP/1.1 to a path of letters under /v1/, with a
 * plain Content-Length, each header of interest once, and nothing that changes the framing.
 * Undefined for everything else, including broken and incomplete heads: node:http answers those.
 * One scan from left to right, which never goes back: whatever the bytes are, each is read at most
 * three times (hostile-heads.test.ts). Nothing of the result refers to the memory of `bytes`.
 * @param bytes begins with the request line
 */
export function parseHead(bytes: Buffer): Head | undefined {
  const end = Math.min(bytes.length, MAX_HEAD_BYTES);
  if (!startsWith(bytes, 0, START)) return undefined;
  const pathEnd = skip(bytes, { from: START.length, end, set: IN_PATH });
  if (pathEnd === START.length) return undefined;
  const hasQuery = bytes[pathEnd] === QUESTION_MARK;
  const targetEnd = hasQuery ? skip(bytes, { from: pathEnd + 1, end, set: IN_QUERY }) : pathEnd;
  if (!startsWith(bytes, targetEnd, END)) return undefined;
  const head: MutableHead = {
    bytes: 0,
    path: bytes.toString('latin1', START.length - '/v1/'.length, pathEnd),
    query: hasQuery ? bytes.toString('latin1', pathEnd + 1, targetEnd) : '',
    contentLength: -1,
    authorization: undefined,
    serviceKey: undefined,
    userAgent: undefined,
    origin: undefined,
    trace: undefined,
    traceparent: undefined,
    forwardedFor: undefined,
  };
  let at = targetEnd + END.length;
  for (let headers = 0; headers <= MAX_HEADERS && at < end; headers++) {
    if (bytes[at] === CR) {
      if (bytes[at + 1] !== LF || head.contentLength < 0) return undefined;
      head.bytes = at + 2;
      return head;
    }
    at = readHeader(head, bytes, { from: at, end });
    if (at === -1) return undefined;
  }
  return undefined;
}

/** The place of the next header, or -1 when this one makes the request uncommon. */
function readHeader(
  head: MutableHead,
  bytes: Buffer,
  { from, end }: { from: number; end: number },
): number {
  const nameEnd = skip(bytes, { from, end, set: IN_NAME });
  if (nameEnd === from || bytes[nameEnd] !== COLON) return -1;
  let start = nameEnd + 1;
  while (start < end && isBlank(bytes[start])) start++;
  const lineEnd = skip(bytes, { from: start, end, set: IN_VALUE });
  if (bytes[lineEnd] !== CR || bytes[lineEnd + 1] !== LF) return -1;
  const header = headerAt(bytes, from, nameEnd);
  if (header !== undefined) {
    // Only spaces and tabs: NBSP and its like belong to the value (RFC 9110, 5.5).
    let stop = lineEnd;
    while (stop > start && isBlank(bytes[stop - 1])) stop--;
    if (header === 'uncommon') return -1;
    if (header === 'contentLength') {
      const length = head.contentLength === -1 ? lengthAt(bytes, start, stop) : -1;
      if (length === -1) return -1;
      head.contentLength = length;
    } else if (header === 'connection') {
      if (bytes.toString('latin1', start, stop).toLowerCase() !== 'keep-alive') return -1;
    } else {
      if (head[header] !== undefined) return -1;
      head[header] = bytes.toString('latin1', start, stop);
    }
  }
  return lineEnd + 2;
}

/** The number that these bytes write in digits; -1 when they write none, or a long one. */
function lengthAt(bytes: Buffer, start: number, stop: number): number {
  if (start === stop || stop - start > MAX_LENGTH_DIGITS) return -1;
  let length = 0;
  for (let at = start; at < stop; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    length = length * 10 + digit;
  }
  return length;
}

function startsWith(bytes: Buffer, at: number, expected: Buffer): boolean {
  for (let index = 0; index < expected.length; index++)
    if (bytes[at + index] !== expected[index]) return false;
  return true;
}

/** The first place from `from` on whose byte is not in the set. */
function skip(
  bytes: Buffer,
  { from, end, set }: { from: number; end: number; set: Uint8Array },
): number {
  let at = from;
  while (at < end && set[bytes[at] ?? 0] === 1) at++;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

import { describe, expect, it } from 'vitest';
import { MAX_HEAD_BYTES, parseHead } from './parse-head.ts';

const LINE = 'POST /v1/track HTTP/1.1\r\n';
const COMMON = `${LINE}X-Service-Key: k\r\nContent-Length: 2\r\n`;
const LONG = MAX_HEAD_BYTES - 300;

/** Heads that make a careless parser read the same bytes again and again. */
const HOSTILE: readonly (readonly [kind: string, head: string])[] = [
  ['spaces before a value that is broken', `${COMMON}a:${' '.repeat(LONG)}\x01\r\n\r\n`],
  ['tabs before a value that is broken', `${COMMON}a:${'\t'.repeat(LONG)}\x01\r\n\r\n`],
  ['spaces and tabs in turns', `${COMMON}a:${' \t'.repeat(LONG / 2)}\x01\r\n\r\n`],
  ['spaces behind a value', `${COMMON}Origin: x${' '.repeat(LONG)}\r\n\r\n`],
  ['spaces between the words of a value', `${COMMON}Origin: ${'x  '.repeat(LONG / 3)}\x7f\r\n\r\n`],
  ['a long path', `POST /v1/${'a'.repeat(LONG)}\x01 HTTP/1.1\r\n\r\n`],
  ['a long query', `POST /v1/track?${'a=&'.repeat(LONG / 3)}\x01 HTTP/1.1\r\n\r\n`],
  ['spaces in the request line', `POST /v1/track${' '.repeat(LONG)}HTTP/1.1\r\n\r\n`],
  ['a long name without a colon', `${COMMON}${'a'.repeat(LONG)}\r\n\r\n`],
  ['a long name with a space before its colon', `${COMMON}${'a'.repeat(LONG)} : x\r\n\r\n`],
  ['many short headers', `${COMMON}${'a:\r\n'.repeat(LONG / 4)}\r\n`],
  ['many headers and a broken one', `${COMMON}${'a: b\r\n'.repeat(LONG / 6)}a\r\n\r\n`],
  ['many lines that are almost the last', `${COMMON}${'a:\r\r\n'.repeat(LONG / 5)}\r\n`],
  ['a long length', `${LINE}Content-Length: ${'0'.repeat(LONG)}\r\n\r\n`],
  ['no end', `${COMMON}Cookie: ${'x'.repeat(60_000)}`],
  ['only carriage returns', '\r'.repeat(60_000)],
  ['only ends of lines', `POST${'\r\n'.repeat(30_000)}`],
];

/** How many bytes the parser reads, by index or with a method. */
function bytesRead(head: string): number {
  const bytes = Buffer.from(head, 'latin1');
  let count = 0;
  const counting = new Proxy(bytes, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof property === 'string' && /^\d+$/.test(property)) count++;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const ends = args.filter((arg) => typeof arg === 'number');
        count += ends.length > 1 ? (ends[1] ?? 0) - (ends[0] ?? 0) : target.length;
        return Reflect.apply(value, target, args);
      };
    },
  });
  parseHead(counting);
  return count;
}

/** CPU time of parsing, ns: the least of several runs. */
function work(head: string): number {
  const bytes = Buffer.from(head, 'latin1');
  let least = Infinity;
  for (let run = 0; run < 20; run++) {
    const began = process.hrtime.bigint();
    parseHead(bytes);
    least = Math.min(least, Number(process.hrtime.bigint() - began));
  }
  return least;
}

describe('parsing a hostile head', () => {
  it.each(HOSTILE)('reads each byte at most three times: %s', (_, head) => {
    const most = 3 * Math.min(head.length, MAX_HEAD_BYTES);
    expect(bytesRead(head)).toBeLessThanOrEqual(most);
    expect(bytesRead(head)).toBeGreaterThan(0);
  });

  it.each(HOSTILE)('costs no more than many times a harmless head of its size: %s', (_, head) => {
    const harmless = `${COMMON}Origin: ${'x'.repeat(LONG)}\r\n\r\n`;
    work(harmless);
    expect(work(head) / work(harmless)).toBeLessThan(100);
  });
});

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CODE_ALPHABET,
  isShortLinkTarget,
  locationOf,
  readCode,
  shortLinkCode,
} from './short-link.ts';

/** The definition of 4.7, bit by bit. */
function slowCode(accountId: number, target: string): string {
  const digest = createHash('sha256')
    .update(String(accountId))
    .update(Buffer.of(0))
    .update(target)
    .digest();
  const bits = [...digest].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return Array.from({ length: 7 }, (_, at) =>
    CODE_ALPHABET.charAt(parseInt(bits.slice(at * 5, at * 5 + 5), 2)),
  ).join('');
}

describe('shortLinkCode', () => {
  it('has an alphabet of 32 digits without I, L, O and U', () => {
    expect(new Set(CODE_ALPHABET).size).toBe(32);
    expect(CODE_ALPHABET).not.toMatch(/[ILOU]/);
  });

  it('is the first 7 digits of the hash', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1 }), fc.webUrl(), (accountId, target) => {
        expect(shortLinkCode(accountId, target)).toBe(slowCode(accountId, target));
        expect(readCode(shortLinkCode(accountId, target))).toBe(shortLinkCode(accountId, target));
      }),
    );
  });

  it('differs by account and target', () => {
    const codes = [
      shortLinkCode(1, 'https://x.ir/a'),
      shortLinkCode(2, 'https://x.ir/a'),
      shortLinkCode(1, 'https://x.ir/a/'),
      shortLinkCode(11, 'https://x.ir/a'),
    ];
    expect(new Set(codes).size).toBe(4);
  });
});

describe('readCode', () => {
  it.each([
    ['0ABCDEF', '0ABCDEF'],
    ['0abcdef', '0ABCDEF'],
    ['0ABCDE', undefined],
    ['0ABCDEFG', undefined],
    ['0ABCDEI', undefined],
    ['0ABCDEU', undefined],
    ['', undefined],
    ['ßßßßßß', undefined],
    ['../../x', undefined],
  ])('of %j is %j', (asked, code) => expect(readCode(asked)).toBe(code));
});

describe('a target', () => {
  it.each([
    'https://x.ir',
    'http://x.ir/a?b=c#d',
    'HTTPS://X.IR',
    'https://x.ir/کفش',
    'https://پ.ir/',
  ])('may be %s', (target) => expect(isShortLinkTarget(target)).toBe(true));
  it.each([
    'ftp://x.ir',
    'javascript:alert(1)',
    'https://',
    'https://x.ir/a b',
    'https://x.ir/\r\nSet-Cookie: a',
    'x.ir',
    `https://x.ir/${'a'.repeat(2048)}`,
    'https://x.ir/\ud800',
  ])('may not be %j', (target) => expect(isShortLinkTarget(target)).toBe(false));
  it('is escaped in the Location header unless it is ASCII', () => {
    expect(locationOf('HTTPS://X.ir/a?b=%D8')).toBe('HTTPS://X.ir/a?b=%D8');
    expect(locationOf('https://x.ir/کفش')).toBe('https://x.ir/%DA%A9%D9%81%D8%B4');
  });
});

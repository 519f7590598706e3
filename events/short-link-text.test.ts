import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linksToShorten, rewriteLinks, type MessageText } from './short-link-text.ts';
import { shortLinkCode } from './short-link.ts';

const LONG = 'https://shop.example.ir/collections/spring/products/123';
const short = (target: string) => `https://l.ir/s/${shortLinkCode(1, target)}`;

function rewrite(text: string, changes: Partial<MessageText> = {}): string {
  const links = linksToShorten({
    text,
    accountId: 1,
    base: 'https://l.ir',
    line: 'advertising',
    ...changes,
  });
  return rewriteLinks({ text, links, isStored: () => true });
}

describe('the links of an SMS', () => {
  it.each([
    ['alone', LONG, short(LONG)],
    ['inside a sentence', `سلام ${LONG} ممنون`, `سلام ${short(LONG)} ممنون`],
    ['behind a letter of the text', `لینک:${LONG}`, `لینک:${short(LONG)}`],
    ['before a full stop', `${LONG}.`, `${short(LONG)}.`],
    [
      'before Persian punctuation',
      `${LONG}، و ${LONG}؟ ${LONG}؛`,
      `${short(LONG)}، و ${short(LONG)}؟ ${short(LONG)}؛`,
    ],
    ['in brackets', `(${LONG}) «${LONG}»`, `(${short(LONG)}) «${short(LONG)}»`],
    ['with brackets of its own', `${LONG}_(a)`, short(`${LONG}_(a)`)],
    ['glued to the text that follows: a space parts them', `${LONG}بخرید`, `${short(LONG)} بخرید`],
    ['with a Persian path', `${LONG}/کفش-زنانه بخر`, `${short(`${LONG}/کفش-زنانه`)} بخر`],
    ['before a direction mark', `${LONG}\u200f!`, `${short(LONG)}\u200f!`],
    ['with a query', `${LONG}?a=1&b=2!`, `${short(`${LONG}?a=1&b=2`)}!`],
    ['in upper case', LONG.replace('https', 'HTTPS'), short(LONG.replace('https', 'HTTPS'))],
    ['twice', `${LONG}\n${LONG}`, `${short(LONG)}\n${short(LONG)}`],
  ])('are shortened %s', (_, text, rewritten) => expect(rewrite(text)).toBe(rewritten));

  it.each([
    ['without a base', { base: '' }],
    ['on a service line', { line: 'service' as const }],
  ])('stay unchanged %s', (_, changes) => expect(rewrite(LONG, changes)).toBe(LONG));

  it.each([
    'ftp://shop.example.ir/collections/spring/products/123',
    'www.shop.example.ir/collections/spring/products',
    'https://x.ir/a',
    'xhttps://shop.example.ir/collections/spring',
  ])('stay unchanged in %s', (text) => expect(rewrite(text)).toBe(text));

  it('are shortened only when the text becomes shorter', () => {
    const same = `https://l.ir/${'a'.repeat(short(LONG).length - 'https://l.ir/'.length)}`;
    expect(rewrite(same)).toBe(same);
    expect(rewrite(`${same}a`)).toBe(short(`${same}a`));
  });

  it('stay unchanged until their mapping is stored', () => {
    const other = `${LONG}/other`;
    const text = `${LONG} ${other}`;
    const links = linksToShorten({
      text,
      accountId: 1,
      base: 'https://l.ir/',
      line: 'advertising',
    });
    expect(rewriteLinks({ text, links, isStored: ({ target }) => target === other })).toBe(
      `${LONG} ${short(other)}`,
    );
  });

  it('are the only parts of a text that change, and never make it longer', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.webUrl({ withQueryParameters: true }),
      fc.constantFrom(LONG, '، ', ' ', 'سلام', '(', ')'),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        const links = linksToShorten({
          text,
          accountId: 1,
          base: 'https://l.ir',
          line: 'advertising',
        });
        const once = rewriteLinks({ text, links, isStored: () => true });
        expect(once.length).toBeLessThanOrEqual(text.length);
        let at = 0;
        for (const link of links) {
          expect(link.start).toBeGreaterThanOrEqual(at);
          expect(text.slice(link.start, link.end)).toBe(link.target);
          at = link.end;
        }
        expect(rewriteLinks({ text, links, isStored: () => false })).toBe(text);
      }),
    );
  });
});

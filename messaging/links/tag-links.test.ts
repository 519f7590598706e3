import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attributeText } from '../html/attribute-text.ts';
import { htmlTags } from '../html/html-tags.ts';
import type { RenderedContent } from '../providers/provider.ts';
import { tagLinks } from './tag-links.ts';
import type { LinkTags } from './tag-url.ts';

const EMPTY: RenderedContent = { subject: '', title: '', text: '', html: '', url: '', data: {} };
const ID = 'c1.2.0123456789abcdef0123456789abcdef';
const MID = `sg_mid=${ID}`;

function tag(part: 'text' | 'html' | 'url', content: string, tags: Partial<LinkTags> = {}): string {
  const options = { messageId: ID, utm: {}, channel: 'email' as const, ...tags };
  return tagLinks({ ...EMPTY, [part]: content }, options)[part];
}

describe('a link', () => {
  it.each([
    ['https://x.ir', `https://x.ir?${MID}`],
    ['https://x.ir/a', `https://x.ir/a?${MID}`],
    ['HTTP://x.ir/a?b=1&c', `HTTP://x.ir/a?b=1&c&${MID}`],
    ['https://x.ir/?', `https://x.ir/?${MID}`],
    ['https://x.ir/??', `https://x.ir/??&${MID}`],
    ['https://x.ir/?a=1&', `https://x.ir/?a=1&${MID}`],
    ['https://x.ir/a?b=%D8%A2+ %#c?d#e', `https://x.ir/a?b=%D8%A2+ %&${MID}#c?d#e`],
    ['https://x.ir#/route?x=1', `https://x.ir?${MID}#/route?x=1`],
    ['https://x.ir/#', `https://x.ir/?${MID}#`],
    [' https://x.ir/a ', ` https://x.ir/a?${MID} `],
    ['https://x.ir/کفش', `https://x.ir/کفش?${MID}`],
    // A link that was copied from another message.
    ['https://x.ir/?a=1&sg_mid=c9.9.ff&b#x', `https://x.ir/?a=1&${MID}&b#x`],
    ['https://x.ir/?sg_mid', `https://x.ir/?${MID}`],
    ['https://x.ir/?xsg_mid=1', `https://x.ir/?xsg_mid=1&${MID}`],
  ])('%s gets the message id', (url, tagged) => expect(tag('url', url)).toBe(tagged));

  it.each([
    'mailto:a@x.ir?subject=https://x.ir',
    'tel:+982112345678',
    '#top',
    '/relative',
    'shop://product/5',
    'javascript:void(0)',
    'https://',
    'https:///a',
    'https://in.x.ir/e/u/AQEDy1qU3b0s9mJ7b5s6mX1r2q4w5e6r7t8y9u',
    '',
  ])('%s stays as it is', (url) => expect(tag('url', url)).toBe(url));

  it('gets the utm parameters of the campaign, but its own ones win', () => {
    const utm = {
      source: 'ravand',
      medium: 'sms',
      name: 'یلدا & co',
      term: "a'b(c)",
      content: 'x',
    };
    expect(tag('url', 'https://x.ir/?utm_medium=mine&utm%5Fterm=#f', { utm })).toBe(
      `https://x.ir/?utm_medium=mine&utm%5Fterm=&${MID}&utm_source=ravand&utm_campaign=%DB%8C%D9%84%D8%AF%D8%A7%20%26%20co&utm_content=x#f`,
    );
    expect(tag('url', 'https://x.ir', { utm: { term: "a'b(c)" } })).toBe(
      `https://x.ir?${MID}&utm_term=a%27b%28c%29`,
    );
  });

  it('of a message that is prepared again is the same', () =>
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        const once = tag('url', url, { utm: { source: 's' } });
        expect(tag('url', once, { utm: { source: 's' } })).toBe(once);
      }),
    ));

  it('keeps its parameters and its fragment, and has each new one once', () =>
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        const utm = { source: 'a b', name: 'ی' };
        const tagged = tag('url', url, { utm });
        const [before, after] = [new URL(url), new URL(tagged)];
        const own = new Set(before.searchParams.keys());
        const added = [
          ['sg_mid', ID],
          ['utm_source', 'a b'],
          ['utm_campaign', 'ی'],
        ].filter(([name]) => !own.has(name ?? ''));
        expect([...after.searchParams]).toEqual([...before.searchParams, ...added]);
        const [head, ...fragment] = tagged.split('#');
        expect([...fragment]).toEqual(url.split('#').slice(1));
        expect(head?.startsWith(url.split('#')[0] ?? '')).toBe(true);
      }),
    ));
});

describe('links in text', () => {
  it('are tagged where they end', () => {
    expect(tag('text', 'خرید: https://x.ir/a، یا (http://y.ir/?b=1). پایان')).toBe(
      `خرید: https://x.ir/a?${MID}، یا (http://y.ir/?b=1&${MID}). پایان`,
    );
    expect(tag('text', 'خرید [https://x.ir/a_(b)]')).toBe(`خرید [https://x.ir/a_(b)?${MID}]`);
  });

  it('end before a word that follows at once', () =>
    expect(tag('text', 'https://x.ir/aبخرید')).toBe(`https://x.ir/a?${MID} بخرید`));

  it('are all that changes', () => {
    const text = 'سلام x.ir www.x.ir ftp://x.ir mailto:a@x.ir xhttps://x.ir';
    expect(tag('text', text)).toBe(text);
  });
});

describe('links in HTML', () => {
  it.each([
    [
      '<a href="https://x.ir/?a=1&amp;b=2#c">x</a>',
      `<a href="https://x.ir/?a=1&amp;b=2&amp;${MID}#c">x</a>`,
    ],
    [
      "<A class=b HREF='https://x.ir/?a=1&b=2'>",
      `<A class=b HREF='https://x.ir/?a=1&b=2&amp;${MID}'>`,
    ],
    ['<area href=https://x.ir/a>', `<area href=https://x.ir/a?${MID}>`],
    ['<a href = "https:&#47;&#x2f;x.ir&#35;f">', `<a href = "https:&#47;&#x2f;x.ir?${MID}&#35;f">`],
    [
      '<a href="https://x.ir/?q=a&#38;sg_mid=old&#38;r=1">',
      `<a href="https://x.ir/?q=a&#38;${MID}&#38;r=1">`,
    ],
    ['<a href="https://x.ir/&copy;?a&lt=1">', `<a href="https://x.ir/&copy;?a&lt=1&amp;${MID}">`],
    [
      '<!--[if mso]><v:roundrect href="https://x.ir"></v:roundrect><![endif]-->',
      `<!--[if mso]><v:roundrect href="https://x.ir?${MID}"></v:roundrect><![endif]-->`,
    ],
  ])('%s', (html, tagged) => expect(tag('html', html)).toBe(tagged));

  it.each([
    '<link href="https://x.ir/font.css"><base href="https://x.ir/">',
    '<img src="https://x.ir/a.png"><form action="https://x.ir/"></form>',
    '<a title="https://x.ir" data-href="https://x.ir">https://x.ir</a>',
    '<!-- <a href="https://x.ir"> --><script>"<a href=https://x.ir>"</script>',
    '<a href="mailto:a@x.ir">m</a><a href="#top">t</a><a href="tel:1">p</a><a href>x</a>',
    '<p title="<a href=https://x.ir>">',
  ])('%s stays as it is', (html) => expect(tag('html', html)).toBe(html));

  it('are tagged as the same address is tagged elsewhere, however it is escaped', () =>
    fc.assert(
      fc.property(
        fc.webUrl({ withQueryParameters: true, withFragments: true }),
        fc.constantFrom('&amp;', '&#38;', '&#x26;'),
        fc.constantFrom('"', "'"),
        (url, ampersand, quote) => {
          const value = url.replaceAll('&', ampersand).replaceAll("'", '&#39;');
          const html = `<p>1 < 2</p><a class="x" href=${quote}${value}${quote}>x</a>`;
          const tagged = tag('html', html, { utm: { source: 's' } });
          const [href] = [...htmlTags(tagged)].flatMap(({ attributes }) =>
            attributes.filter(({ name }) => name === 'href'),
          );
          expect(attributeText(tagged.slice(href?.valueStart, href?.valueEnd)).text).toBe(
            tag('url', url, { utm: { source: 's' } }),
          );
        },
      ),
    ));
});

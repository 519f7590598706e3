import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attributeText } from './attribute-text.ts';
import { htmlTags } from './html-tags.ts';

/** Each tag as its name with its attributes. */
function tagsOf(html: string): string[] {
  return [...htmlTags(html)].map(({ name, isEnd, attributes }) => {
    const written = attributes.map(
      (one) => ` ${one.name}=[${html.slice(one.valueStart, one.valueEnd)}]`,
    );
    return `${isEnd ? '/' : ''}${name}${written.join('')}`;
  });
}

describe('the tags of HTML', () => {
  it.each([
    [
      '<a href="x" Title=\'y\' hidden data-z=1>t</A>',
      ['a href=[x] title=[y] hidden=[] data-z=[1]', '/a'],
    ],
    ['<a href = "x y">', ['a href=[x y]']],
    ['<a href="a>b"><b>', ['a href=[a>b]', 'b']],
    ['<a href=x/y>', ['a href=[x/y]']],
    ['<br/><img/src=x>', ['br', 'img src=[x]']],
    ['<a =b c==d>', ['a =b=[] c=[=d]']],
    ['a < b <3 <> </> x', ['!']],
    ['<!-- <a href="x"> --><b>', ['!', 'b']],
    ['<!--><b><!---><i>', ['!', 'b', '!', 'i']],
    [
      '<!--[if mso]><v:rect href="x"></v:rect><![endif]--><b>',
      ['!', 'v:rect href=[x]', '/v:rect', '!', 'b'],
    ],
    ['<!--[if !mso]><!--><a><!--<![endif]--><b>', ['!', '!', 'a', '!', 'b']],
    ['<!DOCTYPE html><?xml ?><p>', ['!', '!', 'p']],
    ['<style>a<b{}</style><p>', ['style', '/style', 'p']],
    ['<SCRIPT>if (a<b) "</p>"</script ><p>', ['script', '/script', 'p']],
    ['<title><p></titles></title><b>', ['title', '/title', 'b']],
    ['<script><p>', ['script']],
    ['<p><a href="x', ['p']],
    ['<p><a href=x', ['p']],
    ['<p><!-- x', ['p']],
  ])('%s', (html, tags) => expect(tagsOf(html)).toEqual(tags));

  it('are in order and within the text, whatever it is', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            ...[
              '<',
              '>',
              '"',
              "'",
              '=',
              ' ',
              '/',
              '!',
              '--',
              'a',
              'href',
              'style',
              '[if',
              '</style>',
              '&',
              'ب',
            ],
          ),
          { maxLength: 40 },
        ),
        (words) => {
          const html = words.join('');
          let last = 0;
          for (const { start, end, attributes } of htmlTags(html)) {
            expect(start).toBeGreaterThanOrEqual(last);
            expect(html[start]).toBe('<');
            expect(html[end - 1]).toBe('>');
            for (const { valueStart, valueEnd } of attributes) {
              expect(start < valueStart && valueStart <= valueEnd && valueEnd < end).toBe(true);
            }
            last = end;
          }
        },
      ),
      { numRuns: 2000 },
    ));
});

describe('the text of an attribute', () => {
  it.each([
    ['a?b=1&amp;c=2', 'a?b=1&c=2'],
    ['a&#38;b&#x26;c&#X3f;', 'a&b&c?'],
    ['a&ampb&amp;c&amp', 'a&ampb&c&'],
    ['?a=1&copy=2&lt=3', '?a=1&copy=2&lt=3'],
    ['&num;&quest;&nothing;&constructor;', '#?&nothing;&constructor;'],
    ['&#0;&#xd800;&#9999999;', '&#0;&#xd800;&#9999999;'],
    ['&#x1F600;!', '😀!'],
  ])('%s', (value, text) => {
    const decoded = attributeText(value);
    expect(decoded.text).toBe(text);
    expect(decoded.offsets).toHaveLength(text.length + 1);
    expect(decoded.offsets.at(-1)).toBe(value.length);
  });

  it('says where each character is written', () => {
    const { text, offsets } = attributeText('x&amp;y');
    expect([text, offsets]).toEqual(['x&y', [0, 1, 6, 7]]);
  });
});

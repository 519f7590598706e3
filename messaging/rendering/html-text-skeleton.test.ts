import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { compileTemplate } from './compile.ts';
import { renderMessage } from './render-message.ts';
import { textOfHtml } from './text-of-html.ts';

type Variables = Parameters<typeof renderMessage>[1];

// Files before this one in the same process have loaded the modules without the spy.
vi.hoisted(() => vi.resetModules());
vi.mock(import('./text-of-html.ts'), { spy: true });
const parsed = () => vi.mocked(textOfHtml).mock.calls.length;

const fragment = fc.constantFrom(
  ...['<p>', '</p>', '<b>', '</b>', '<br>', '<div dir="rtl">', '</div>', '<h1>', '</h1>', '<ul>'],
  ...['<li>', '</ul>', '<ol>', '</ol>', '<table>', '<tr>', '<td>', '</table>', '<pre>', '</pre>'],
  ...[
    '<a href="https://x.ir">',
    '<a href="ali">',
    '</a>',
    '<!-- ',
    ' -->',
    '<script>',
    '</script>',
  ],
  ...['<title>', '</title>', '<xmp>', '</xmp>', '<textarea>', '<plaintext>', '<img alt="', '">'],
  ...['<', '>', '&', '&amp;', '&nbsp;', '&lt', '&#', ' ', '\n', '  ', '"', 'سلام', 'ali', '\u200c'],
  ...[
    '\ue000',
    '\ue0001\ue001',
    '<head>',
    '<body>',
    '</body>',
    '<a',
    '<p title="a>b',
    '<blockquote>',
  ],
);
const output = fc.constantFrom(
  '{{ vars.a }}',
  '{{ vars.b }}',
  '{{- vars.a -}}',
  '{{ vars.a | upcase }}',
);
const usual = fc.constantFrom('<p>', '</p>', '<br>', 'سلام ', ' و ', '<b>', '</b>', '<li>');
const template = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: usual },
      { weight: 2, arbitrary: fragment },
      { weight: 2, arbitrary: output },
    ),
    { maxLength: 14 },
  )
  .map((pieces) => pieces.join(''));
const value = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom(
    'ali',
    'Sara Karimi',
    'می‌رود',
    'a & b',
    '<b>',
    'lt;',
    '&copy',
    'https://x.ir',
    ' x ',
  ),
  fc.constantFrom(
    '',
    'a  b',
    'a\nb',
    '\u200b',
    '\u00a0',
    '\ufeff',
    'script>',
    '#34;',
    '\ue000',
    '"',
  ),
);

describe('the text of an HTML part', () => {
  it('is the same whether its template or each message is parsed', () => {
    let withoutParsing = 0;
    fc.assert(
      fc.property(
        template,
        fc.array(fc.record({ a: value, b: value }), { minLength: 1 }),
        (html, all) => {
          const parts = compileTemplate({ html }, 'email');
          for (const vars of all) {
            const variables: Variables = { user: {}, vars, event: {} };
            const before = parsed();
            const rendered = renderMessage({ parts, channel: 'email' }, variables, () => 0);
            if ('error' in rendered) continue;
            if (parsed() === before) withoutParsing++;
            const { content } = rendered;
            expect(content.text).toBe(textOfHtml(content.html));
          }
        },
      ),
      { numRuns: 3000 },
    );
    expect(withoutParsing).toBeGreaterThan(1000);
  });

  it('is parsed once of a usual template, and again for a value that is more than words', () => {
    const html = '<p>سلام {{ vars.a }}</p><p>{{ vars.b }} &amp; {{ vars.a }}</p>';
    const parts = compileTemplate({ html }, 'email');
    const before = parsed();
    const textWith = (a: string, b: string) => {
      const variables = { user: {}, vars: { a, b }, event: {} };
      return renderMessage({ parts, channel: 'email' }, variables, () => 0);
    };
    for (const name of ['سارا', 'علی & رضا', '"x"'])
      expect(textWith(name, 'b c')).toMatchObject({
        content: { text: `سلام ${name}\n\nb c & ${name}` },
      });
    expect(parsed() - before).toBe(1);
    expect(textWith('a', 'b  c')).toMatchObject({ content: { text: 'سلام a\n\nb c & a' } });
    expect(parsed() - before).toBe(2);
  });
});

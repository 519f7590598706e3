import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../events/channels/channel-change.ts';
import type { MessageVariables } from '../delivery/prepare-messages.ts';
import { htmlTags } from '../html/html-tags.ts';
import type { TemplateContent } from '../templates/template.ts';
import { compileTemplate } from './compile.ts';
import { renderMessage } from './render-message.ts';

const SARA: MessageVariables = {
  user: { first_name: 'سارا', city: 'تهران', visits: 3, empty: '', none: null, tags: ['a', 'b'] },
  vars: { code: '123', html: '<b>"x"&\'y\'</b>', liquid: '{{ user.city }}{% if true %}' },
  event: { total: 250000 },
};

function render(
  content: TemplateContent,
  {
    channel = 'email',
    variables = SARA,
    cpuMs = () => 0,
  }: {
    channel?: Channel;
    variables?: MessageVariables;
    cpuMs?: () => number;
  } = {},
) {
  return renderMessage({ parts: compileTemplate(content, channel), channel }, variables, cpuMs);
}

function textOf(text: string, variables = SARA): string {
  const rendering = render({ text: `${text}.` }, { channel: 'sms', variables });
  return 'error' in rendering ? rendering.error : rendering.content.text.slice(0, -1);
}

function htmlOf(html: string, variables = SARA): string {
  const rendering = render({ subject: 's', html: `<p dir="rtl">${html}</p>` }, { variables });
  return 'error' in rendering ? rendering.error : rendering.content.html.slice(13, -4);
}

function missingOf(text: string): readonly string[] | string {
  const rendering = render({ text: `${text}.` }, { channel: 'sms' });
  return 'error' in rendering ? rendering.error : rendering.missing;
}

describe('values', () => {
  it('stand in text as they are', () =>
    expect(textOf('{{ user.first_name }} {{ event.total }} {{ vars.html }}')).toBe(
      `سارا 250000 <b>"x"&'y'</b>`,
    ));

  it('are escaped in HTML, once', () => {
    const escaped = '&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;';
    expect(htmlOf('{{ vars.html }}')).toBe(escaped);
    expect(htmlOf('{% echo vars.html %}')).toBe(escaped);
    expect(htmlOf('{% cycle vars.html %}')).toBe(escaped);
    expect(htmlOf('{% capture b %}<i>{{ vars.html }}</i>{% endcapture %}{{ b }}')).toBe(
      `<i>${escaped}</i>`,
    );
    expect(htmlOf('{% for t in user.tags %}<i>{{ t | append: "<" }}</i>{% endfor %}')).toBe(
      '<i>a&lt;</i><i>b&lt;</i>',
    );
    expect(htmlOf('{% assign a = vars.html %}{{ a | upcase }}')).toBe(
      escaped.toUpperCase().replaceAll(/&[A-Z]+;/g, (entity) => entity.toLowerCase()),
    );
    expect(htmlOf('{{ "<\n>" | newline_to_br }}')).toBe('&lt;<br>\n&gt;');
  });

  it('are never read as Liquid', () => {
    expect(textOf('{{ vars.liquid }}')).toBe('{{ user.city }}{% if true %}');
    expect(textOf('{% assign a = vars.liquid %}{{ a }}')).toBe('{{ user.city }}{% if true %}');
    expect(textOf('{% capture a %}{{ vars.liquid }}{% endcapture %}{{ a }}')).toBe(
      '{{ user.city }}{% if true %}',
    );
  });

  it('that are objects or lists become text, too', () =>
    expect(textOf('{{ user.tags }} {{ vars }}', { ...SARA, vars: { a: [1] } })).toBe(
      'ab {"a":[1]}',
    ));

  it('make no tag and no attribute in HTML, whatever they are', () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ unit: fc.constantFrom(...`<>"'&;=/ab -!{}%`.split('')) }),
        ),
        (value) => {
          const variables = { ...SARA, user: { value } };
          const html = htmlOf(
            `<a title="{{ user.value }}" id='{{ user.value }}'>{{ user.value }}</a>`,
            variables,
          );
          const tags = [...htmlTags(html)].map(({ name, attributes }) => [
            name,
            ...attributes.map((one) => one.name),
          ]);
          expect(tags).toEqual([['a', 'title', 'id'], ['a']]);
        },
      ),
    ));
});

describe('missing variables', () => {
  it('render empty and are named', () => {
    expect(textOf('[{{ user.nothing }}{{ user.none }}{{ vars.a.b }}{{ other }}]')).toBe('[]');
    expect(missingOf('{{ user.nothing }}{{ user.none }}{{ vars.a.b }}{{ other }}')).toEqual([
      ...['user.nothing', 'user.none', 'vars.a.b', 'other'],
    ]);
  });

  it('are not named where a default stands in, or a condition asks for them', () => {
    expect(textOf('{{ user.nothing | default: "دوست" }}')).toBe('دوست');
    expect(missingOf('{{ user.nothing | default: "دوست" }}')).toEqual([]);
    expect(missingOf('{% if user.nothing %}x{% endif %}{{ user.empty }}')).toEqual([]);
    expect(missingOf('{{ user.nothing | default: user.none }}')).toEqual([
      'user.nothing',
      'user.none',
    ]);
  });

  it('are named once, and at most 100 of them', () => {
    expect(missingOf('{% for i in (1..5) %}{{ user.nothing }}{% endfor %}')).toEqual([
      'user.nothing',
    ]);
    const many = Array.from({ length: 300 }, (_, at) => `{{ user.x${at} }}`).join('');
    expect(missingOf(many)).toHaveLength(100);
  });

  it.each(['size', 'first', 'last', 'constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'are missing when their name is %s, which JavaScript or Liquid gives to every object',
    (name) => {
      expect(textOf(`[{{ user.${name} }}]`)).toBe('[]');
      expect(textOf(`[{{ user["${name}"] }}]`)).toBe('[]');
      expect(textOf(`{{ user.${name} }}`, { ...SARA, user: { [name]: 'own' } })).toBe('own');
    },
  );
});

describe('a template', () => {
  it.each([
    '{% for i in (1..3) %}{{ forloop.constructor }}{{ forloop["__proto__"] }}{% endfor %}',
    '{% for i in (1..3) %}{% assign p = "__pro" | append: "to__" %}{{ forloop[p][p].constructor.name }}{% endfor %}',
    '{% assign x = user | map: "constructor" %}{{ x }}',
    '{{ user.tags.constructor.constructor }}',
    '{{ "".constructor.name }}',
  ])('finds no way to JavaScript: %s', (text) => expect(textOf(`[${text}]`)).toBe('[]'));

  it('cannot change the variables of another part', () => {
    const rendering = render(
      {
        title: '{% increment user %}{% assign vars = 1 %}',
        text: '{{ user.first_name }}{{ vars.code }}',
      },
      { channel: 'push' },
    );
    expect(rendering).toMatchObject({ content: { text: 'سارا123' } });
  });

  it.each([
    ['{% for i in (1..1000000000) %}x{% endfor %}', /too large/],
    [
      '{% for i in (1..1000) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}',
      /more than 100000 tags/,
    ],
    [
      '{% assign a = "x" %}{% for i in (1..40) %}{% assign a = a | append: a %}{% endfor %}',
      /too large/,
    ],
    [
      '{% for i in (1..40) %}{% capture a %}{{ a }}{{ a }}x{% endcapture %}{% endfor %}',
      /captures more/,
    ],
    ['{% for i in (1..30000) %}abcdefghij{% endfor %}', /longer than 100000 characters/],
  ])('is stopped at its limits: %s', (text, message) => {
    const rendering = render({ text }, { channel: 'sms' });
    expect('error' in rendering ? rendering.error : 'rendered').toMatch(message);
  });

  it('is stopped when it takes too much time of a core, with the place', () => {
    let ms = 0;
    const rendering = render(
      { text: 'a\n{% for i in (1..9999) %}x{% endfor %}' },
      { channel: 'sms', cpuMs: () => (ms += 100) },
    );
    expect(rendering).toEqual({
      error: 'text, line 2, column 1: it takes longer than 250 ms: simplify its loops and filters',
    });
  });

  it('of which nothing is left makes no message', () => {
    expect(render({ text: '{{ user.nothing }} ' }, { channel: 'sms' })).toHaveProperty('error');
    expect(
      render({ title: '{{ user.nothing }}', data: { a: '1' } }, { channel: 'push' }),
    ).toHaveProperty('content.data', { a: '1' });
    expect(render({ title: '{{ user.nothing }}' }, { channel: 'web' })).toHaveProperty('error');
  });
});

describe('the parts of a message', () => {
  it('are those of its channel', () => {
    const content = {
      subject: 's',
      title: 't',
      text: 'x',
      html: '<p>h</p>',
      url: ' https://x.ir/{{ vars.code }} ',
      data: { c: '{{ vars.code }}"' },
    };
    expect(render(content, { channel: 'push' })).toEqual({
      content: {
        subject: '',
        title: 't',
        text: 'x',
        html: '',
        url: 'https://x.ir/123',
        data: { c: '123"' },
      },
      missing: [],
    });
    expect(render(content)).toMatchObject({
      content: { subject: 's', title: '', text: 'x', url: '', data: {} },
    });
  });

  it('a subject and a title have one line', () =>
    expect(
      render(
        { subject: 'a\r\nBcc: {{ vars.b }}\t!', text: 'x' },
        { variables: { ...SARA, vars: { b: 'x\u2028y\n' } } },
      ),
    ).toMatchObject({ content: { subject: 'a Bcc: x y !' } }));

  it('an address that runs a script is refused', () =>
    expect(
      render(
        { title: 't', url: '{{ vars.u }}' },
        { channel: 'inapp', variables: { ...SARA, vars: { u: ' JavaScript:alert(1)' } } },
      ),
    ).toEqual({ error: 'url: it is not an address that people may be sent to' }));

  it('an e-mail without text gets it from its HTML', () => {
    const html =
      '<html><head><style>p{color:red}</style><title>t</title></head><body><h1>سلام {{ user.first_name }}</h1><p>خرید &amp; فروش</p><a href="https://x.ir/a?b=1&amp;c=2">خرید</a><a href="https://y.ir">https://y.ir</a><img src="x.png" alt="z"></body></html>';
    expect(render({ subject: 's', html })).toMatchObject({
      content: { text: 'سلام سارا\n\nخرید & فروش\n\nخرید [https://x.ir/a?b=1&c=2]https://y.ir' },
    });
    expect(render({ subject: 's', html, text: 'own' })).toMatchObject({ content: { text: 'own' } });
  });
});

describe('direction', () => {
  const mark = '\u200f';

  it('text that begins with a Latin word and holds Persian begins with a mark', () => {
    expect(textOf('Ravand سلام')).toBe(`${mark}Ravand سلام`);
    expect(textOf('۵۰٪ - 12. SALE فردا')).toBe(`${mark}۵۰٪ - 12. SALE فردا`);
    expect(render({ title: 'iPhone رسید', text: 'x' }, { channel: 'push' })).toMatchObject({
      content: { title: `${mark}iPhone رسید`, text: 'x' },
    });
    expect(render({ subject: 'VIP سلام', text: 'Hi سلام' })).toMatchObject({
      content: { subject: `${mark}VIP سلام`, text: 'Hi سلام' },
    });
  });

  it.each(['سلام Ravand', 'Hello', '123', '\u202aA سلام', '\u200fA سلام', '😀'])(
    'text such as "%s" stays as it is',
    (text) => expect(textOf(text)).toBe(text),
  );

  it.each([
    [
      '<p>سلام {{ user.first_name }}</p>',
      '<div dir="rtl" lang="fa" style="text-align:right"><p>سلام سارا</p></div>',
    ],
    [
      '<!DOCTYPE html><html dir="rtl"><head><title>سلام</title></head><body class=a><p>x</p></body></html>',
      '<!DOCTYPE html><html dir="rtl"><head><title>سلام</title></head><body class=a><div dir="rtl" lang="fa" style="text-align:right"><p>x</p></div></body></html>',
    ],
    [
      '<!doctype html><style>a{b:c}</style><p>خرید از Ravand</p>',
      '<!doctype html><div dir="rtl" lang="fa" style="text-align:right"><style>a{b:c}</style><p>خرید از Ravand</p></div>',
    ],
    ['<p>{{ user.first_name }}</p>', '<div dir="auto"><p>سارا</p></div>'],
    ['<p>Hello {{ user.first_name | default: "دوست عزیز و گرامی" }}</p>', '<p>Hello سارا</p>'],
    [
      '<table dir="ltr"><tr><td>سلام</td></tr></table>',
      '<table dir="ltr"><tr><td>سلام</td></tr></table>',
    ],
    ['<body dir=ltr>سلام</body>', '<body dir=ltr>سلام</body>'],
    [
      '<!-- English comment, long --><p>سلام</p>',
      '<div dir="rtl" lang="fa" style="text-align:right"><!-- English comment, long --><p>سلام</p></div>',
    ],
  ])('HTML is wrapped when it is Persian: %s', (html, expected) =>
    expect(render({ subject: 's', html })).toMatchObject({ content: { html: expected } }),
  );
});

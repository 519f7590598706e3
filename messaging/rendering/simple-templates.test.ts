import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TemplateContent } from '../templates/template.ts';
import { compileTemplate } from './compile.ts';
import { UnusableTemplate } from './problem.ts';
import { renderMessage } from './render-message.ts';
import { isSimple, SimpleTemplates } from './simple-templates.ts';

const NAMES = ['first_name', 'x', 'size', 'constructor', '__proto__', 'a.b'];
const value = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom<unknown>('{{ vars.x }}', '{% if %}', 'سلام Ali'),
);
const values = fc.dictionary(fc.constantFrom('first_name', 'x', 'a', 'size'), value);
const piece = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 20 }) },
  fc.constantFrom('سلام ', '{{', '}}', '{', '{%', '%}', '-', '\n', ' | default: "x"', '"', "'"),
  fc
    .tuple(
      fc.constantFrom('{{ ', '{{', '{{- '),
      fc.constantFrom('user', 'vars', 'event', 'users', 'forloop'),
      fc.constantFrom(...NAMES),
      fc.constantFrom('', ' | default: "دوست"', " | default: 'x{'", ' | upcase', ' | default: x'),
      fc.constantFrom(' }}', '}}', ' -}}'),
    )
    .map(([open, root, name, filter, close]) => `${open}${root}.${name}${filter}${close}`),
);
const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));

describe('templates of text and variables', () => {
  it('are rendered as a thread renders them', () => {
    let rendered = 0;
    fc.assert(
      fc.property(
        fc.record({ text, url: fc.constantFrom('', 'https://x/{{ vars.x }}', '{{user.x}}') }),
        fc.record({ user: values, vars: values, event: values }),
        (content, all) => {
          const variables: Parameters<typeof renderMessage>[1] = all;
          const job = { key: '1:1', channel: 'bale' as const, content };
          const own = new SimpleTemplates().render({ ...job, variables: [variables] });
          if (!own) return;
          rendered++;
          const parts = compileTemplate(content, 'bale');
          // As a thread gets them.
          const copy = structuredClone(variables);
          expect(own).toEqual([renderMessage({ parts, channel: 'bale' }, copy, () => 0)]);
        },
      ),
      { numRuns: 2000 },
    );
    expect(rendered).toBeGreaterThan(200);
  });

  it.each<[string, TemplateContent, boolean]>([
    ['a text', { text: 'سلام' }, true],
    ['variables', { text: '{{ user.first_name | default: "دوست" }} {{vars.code-}}' }, true],
    ['all parts', { title: '{{ vars.a }}', url: 'https://x/{{ vars.b }}', data: { a: 'b' } }, true],
    ['a tag', { text: '{% if vars.a %}{% endif %}' }, false],
    ['a filter', { text: '{{ vars.a | upcase }}' }, false],
    ['a computed name', { text: '{{ vars[user.x] }}' }, false],
    ['an output that does not end', { text: '{{ vars.a' }, false],
    ['an output across two parts', { title: '{{ vars.a', text: '}}' }, false],
    ['HTML', { subject: 'x', html: '<p>' }, false],
    ['many outputs', { text: '{{ vars.a }}'.repeat(21) }, false],
    ['a long text', { text: 'x'.repeat(5001) }, false],
    ['a tag in the data', { text: 'x', data: { a: '{% raw %}' } }, false],
  ])('are distinguished from others: %s', (_, content, expected) => {
    expect(isSimple(content)).toBe(expected);
  });

  it('are left to a thread when they have large or nested values, or a mistake', () => {
    const templates = new SimpleTemplates();
    const render = (vars: object, content: TemplateContent = { text: 'a{{ vars.x }}' }) =>
      templates.render({
        ...{ key: JSON.stringify(content), channel: 'push', content },
        variables: [{ user: {}, event: {}, vars: vars as never }],
      });
    expect(render({ x: 'b' })).toMatchObject([{ content: { text: 'ab' } }]);
    expect(render({ x: 'b'.repeat(2000) })).toBeUndefined();
    for (const x of [['b'], {}, () => 'b', 1n]) expect(render({ x })).toBeUndefined();
    expect(render({}, { text: 'x', title: 'y'.repeat(4001) })).toBeUndefined();
    expect(() => compileTemplate({ title: 'y'.repeat(4001) }, 'push')).toThrow(UnusableTemplate);
  });
});

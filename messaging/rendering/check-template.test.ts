import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkTemplate } from './check-template.ts';

describe('a template that is saved', () => {
  it('is accepted with every tag that is useful', () =>
    expect(
      checkTemplate(
        {
          subject: '{{ user.first_name | default: "دوست" | truncate: 20 }}',
          text: '{% raw %}{{ x }}{% endraw %}{% comment %}x{% endcomment %}{% liquid\n assign a = 1\n echo a %}{% case user.a %}{% when 1 %}{% else %}{% endcase %}{% unless user.b and user.c == blank %}{% endunless %}',
          html: '<style>a{b:c}</style>{% tablerow i in user.items cols:2 %}{{ i.name }}{% endtablerow %}{{ event.at | date: "%Y" }}{{ user.a | where: "b", 1 | map: "c" | join: ", " }}',
          url: 'https://x.ir/?q={{ vars.q | url_encode }}',
          data: { a: '{{ user | json }}' },
        },
        'email',
      ),
    ).toEqual([]));

  it.each([
    ['{{ user.a | nothing }}', 1, 1, 'there is no filter nothing'],
    ['a\n  {% nothing %}', 2, 3, 'there is no tag nothing'],
    ['{{ user.a | raw }}', 1, 1, /^raw cannot be used: values are always escaped/],
    ['{{ user.a | escape }}', 1, 1, /^escape cannot be used/],
    ['{% include "a" %}', 1, 1, /^include cannot be used: a template is one text/],
    ['{% render "a" %}', 1, 1, /^render cannot be used/],
    ['{% layout "a" %}', 1, 1, /^layout cannot be used/],
    ['{{ user.list | where_exp: "x", "x.a" }}', 1, 1, 'there is no filter where_exp'],
    ['{{ user.a | sample }}', 1, 1, 'there is no filter sample'],
    ['{{ user.a | constructor }}', 1, 1, 'there is no filter constructor'],
    ['سلام {{ user.a', 1, 6, /not closed/],
    ['{% if user.a %}', 1, 1, /not closed/],
    ['{% endif %}', 1, 1, 'there is no tag endif'],
    ['{% for x of user.a %}{% endfor %}', 1, 1, /illegal tag/],
    ['{{ user.first name }}', 1, 1, /more than one value/],
    ['{{ user.first default: "x" }}', 1, 23, /expected "\|" before filter/],
    ['{% tablerow i in user.a %}{% endtablerow %}', 1, 1, 'there is no tag tablerow'],
    ['{% if a %}'.repeat(40) + '{% endif %}'.repeat(40), 1, 301, /nested deeper than 30/],
  ])('%s is refused with its place', (text, line, column, message) => {
    const [problem] = checkTemplate({ text }, 'sms');
    expect(problem).toMatchObject({ field: 'text', line, column });
    expect(problem?.message).toMatch(message);
  });

  it('is refused in every part that has a mistake', () =>
    expect(
      checkTemplate(
        { subject: '{{', html: '{% if %}', data: { ok: '1', bad: '{{ | }}' } },
        'sms',
      ).map(({ field }) => field),
    ).toEqual(['subject', 'html', 'data.bad']));

  it.each([
    [{ subject: 'x'.repeat(4001) }, 'subject', /it has 4001 characters, at most 4000/],
    [{ data: { a: 'x'.repeat(16_001) } }, 'data.a', /at most 16000/],
    [{ text: '{{ a }}'.repeat(5001) }, 'text', /more than 5000 tags/],
    [{ text: '{{ a }}'.repeat(3000), html: '{{ a }}'.repeat(2001) }, 'html', /more than 5000 tags/],
    [{ html: `{% liquid ${'\nassign a = 1'.repeat(6000)} %}` }, 'html', /more than 5000 tags/],
  ])('is refused when it is too large', (content, field, message) => {
    const [problem] = checkTemplate(content, 'email');
    expect(problem).toMatchObject({ field });
    expect(problem?.message).toMatch(message);
  });

  it('is accepted or refused, whatever it is', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            ...[
              '{{',
              '}}',
              '{%',
              '%}',
              'if',
              'for',
              'x',
              'in',
              '"',
              "'",
              '|',
              ':',
              ' ',
              '(',
              '..',
              ')',
              'endif',
              'liquid',
              '\n',
              '-',
              '.',
              '[',
              ']',
              'default',
            ],
          ),
          { maxLength: 30 },
        ),
        (words) => {
          for (const { field, message } of checkTemplate({ text: words.join('') }, 'sms')) {
            expect(field).toBe('text');
            expect(message).not.toBe('');
          }
        },
      ),
      { numRuns: 2000 },
    ));
});

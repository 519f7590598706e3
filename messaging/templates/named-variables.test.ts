import fc from 'fast-check';
import { Liquid } from 'liquidjs';
import { describe, expect, it } from 'vitest';
import { namedVariables } from './named-variables.ts';

const engine = new Liquid();

/** What liquidjs says that a template reads of `user`; undefined: any of it. */
function readBy(text: string): string[] | undefined {
  const segments = engine.globalVariableSegmentsSync(engine.parse(text));
  const own = segments.filter(([root]) => typeof root !== 'string' || root === 'user');
  const names = own.map(([root, name]) => (root === 'user' ? name : undefined));
  return names.every((name) => typeof name === 'string') ? names : undefined;
}

describe('the variables that a template names', () => {
  it.each([
    ['سلام {{ user.first_name | default: "دوست" }} از {{user.city}}', ['first_name', 'city']],
    ['{{ user["favourite colour"] }}{{- user.points -}}', ['favourite colour', 'points']],
    ['{% if user.plan == "gold" and vars.x %}{{ event.user_id }}{% endif %}', ['plan']],
    ['{{ user.نام }}', ['نام']],
    ['{{ vars.code }} for users', []],
  ])('are known: %s', (text, names) => {
    expect(new Set(namedVariables({ text }))).toEqual(new Set(names));
  });

  it.each([
    ...['{{ user[vars.key] }}', '{{ user | json }}', '{% assign all = user %}{{ all.city }}'],
    ...['{% for pair in user %}{{ pair[0] }}{% endfor %}', '{{ [vars.root].city }}'],
    ...['{{ user["ci\\u0074y"] }}', '{{user-}}', '{{ user\u00a0.city }}'],
  ])('are any: %s', (text) => {
    expect(namedVariables({ text })).toBeUndefined();
  });

  it('are those of all parts', () => {
    const data = { a: '{{ user.b }}' };
    const content = { subject: '{{ user.a }}', html: '<p title="{{user.c}}">', data };
    expect(new Set(namedVariables(content))).toEqual(new Set(['a', 'b', 'c']));
  });

  it('hold whatever liquidjs reads', () => {
    const piece = fc.constantFrom(
      ...['user', '.', 'city', 'نام', ' ', '[', ']', '"', "'", 'vars', '-', '?', '1', '|', '\n'],
      ...[
        '{{',
        '}}',
        '{%',
        '%}',
        'if ',
        'endif',
        'assign x = ',
        'json',
        ':',
        '\\',
        '_',
        ',',
        '(',
        ')',
      ],
      ...['{{ user.city }}', '{{ "{{" | append: user.', 'user["city"]', '\u00a0', '..'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const text = `{{ ${pieces.join('')} }}`;
        let read: string[] | undefined;
        try {
          read = readBy(text);
        } catch {
          // No template.
          return;
        }
        const names = namedVariables({ text });
        if (names === undefined) return;
        expect(read).toBeDefined();
        expect(names).toEqual(expect.arrayContaining(read ?? []));
      }),
      { numRuns: 5000 },
    );
  });
});

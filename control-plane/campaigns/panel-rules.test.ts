import fc from 'fast-check';
import { expect, it } from 'vitest';
import { startOfTehranDay } from '../../events/tehran-time.ts';
import { instances } from '../../messaging/recurrence/instances.ts';
import { withDirection } from '../../messaging/rendering/html-direction.ts';
import { parseRule } from '../../messaging/recurrence/parse-rule.ts';
import { directedHtml, textDirection } from '../../panel/src/features/campaigns/text-direction.ts';
import { EVERY, firstDays, ruleOf } from '../../panel/src/features/campaigns/when.ts';

it.each(EVERY)('the rule that the panel writes for every %s can be read', (every) => {
  expect(parseRule(ruleOf(every))).toMatchObject({ ok: true });
});

it.each(EVERY)('the dates that the panel shows for every %s are those of the planner', (every) => {
  const parsed = parseRule(ruleOf(every));
  if (!parsed.ok) throw new Error('the rule cannot be read');
  // 2024 to 2043: leap years, and the ends of all months.
  fc.assert(
    fc.property(fc.integer({ min: 19_723, max: 27_000 }), (day) => {
      const found = instances(parsed.rule, { startsAt: startOfTehranDay(day) });
      expect(firstDays(every, day).map(startOfTehranDay)).toEqual(
        [1, 2, 3].map(() => found.next().value),
      );
    }),
  );
});

it.each([
  '<h1>سلام</h1><p>تازه‌های این ماه</p>',
  '<p>{{ user.first_name }} عزیز</p>',
  '<style>p { color: red }</style><p>سلام</p>',
  '<p>Hello {{ user.first_name }}, the news of this month</p>',
  '<p dir="ltr">سلام</p>',
  '<html><body dir="ltr"><p>سلام</p></body></html>',
])('an e-mail is previewed in the direction in which it is sent: %s', (html) => {
  expect(directedHtml(html) !== html).toBe(withDirection(html) !== html);
});

it('a text that begins with a variable or has an address has the direction of its words', () => {
  const text =
    '{{ user.first_name | default: "دوست" }} عزیز، یلدا: https://shop.example/yalda لغو۱۱';
  expect(textDirection(text)).toBe('rtl');
  expect(textDirection('Hello {{ user.first_name }}')).toBe('ltr');
  expect(textDirection('{{ vars.text }}')).toBe('auto');
});

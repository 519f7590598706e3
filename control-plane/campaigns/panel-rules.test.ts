import fc from 'fast-check';
import { expect, it } from 'vitest';
import { startOfTehranDay } from '../../events/tehran-time.ts';
import { instances } from '../../messaging/recurrence/instances.ts';
import { parseRule } from '../../messaging/recurrence/parse-rule.ts';
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
      expect(firstDays(every, day).map(startOfTehranDay)).toEqual([...found.take(3)]);
    }),
  );
});

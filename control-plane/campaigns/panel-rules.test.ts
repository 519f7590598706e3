import { expect, it } from 'vitest';
import { parseRule } from '../../messaging/recurrence/parse-rule.ts';
import { EVERY, ruleOf } from '../../panel/src/features/campaigns/when.ts';

it.each(EVERY)('the rule that the panel writes for every %s can be read', (every) => {
  expect(parseRule(ruleOf(every))).toMatchObject({ ok: true });
});

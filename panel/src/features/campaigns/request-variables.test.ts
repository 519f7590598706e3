import { expect, it } from 'vitest';
import { requestVariables } from './request-variables.ts';

const of = (content: Record<string, string>) => requestVariables({ content });

it('a test message asks for each variable of the request once, wherever it stands', () => {
  const text = 'کد {{ vars.code }} تا {{ vars.due | jalali }}، {{ user.first_name }}';
  expect(of({ text, subject: '{% if vars.code %}{{ vars.shop-name }}{% endif %}' })).toEqual([
    ...['code', 'due', 'shop-name'],
  ]);
});

it('what only looks like a variable is no field', () => {
  expect(of({ text: 'vars.code {{ user.vars.code }} {{ myvars.code }}' })).toEqual([]);
});

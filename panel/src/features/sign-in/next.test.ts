import { expect, it } from 'vitest';
import { readNext } from './next.ts';

it('sign-in leads to a path of the panel afterwards', () => {
  expect(readNext({ next: '/reports/funnel?range=30d' })).toEqual({
    next: '/reports/funnel?range=30d',
  });
});

it.each(['https://evil.example', '//evil.example', '/\\evil.example', '/sign-in', '/', 7])(
  'sign-in never leads to %j',
  (next) => {
    expect(readNext({ next })).toEqual({});
  },
);

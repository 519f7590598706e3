import { expect, it } from 'vitest';
import { planOf } from './plan.ts';

const EVENTS = [
  { name: 'order_completed', prop_keys: ['total', 'order_id'] },
  { name: 'خرید "ویژه"' },
  { name: 'page_viewed', prop_keys: ['x'] },
  { name: 'message_sent' },
  { name: 'onsite_shown' },
];

it('the plan declares the events of programs, in a fixed order, with any name quoted', () => {
  expect(planOf(EVENTS, { source: 'https://api.example/v1/schema/events', isOpen: false })).toBe(
    [
      '// Written by ravand-schema from https://api.example/v1/schema/events. Do not edit it: run the command again.',
      'declare global {',
      '  interface RavandTrackingPlan {',
      '    "order_completed": {',
      '      "order_id"?: unknown;',
      '      "total"?: unknown;',
      '    };',
      '    "خرید \\"ویژه\\"": {',
      '    };',
      '  }',
      '}',
      'export {};',
      '',
    ].join('\n'),
  );
});

it('an open plan allows events that are not listed', () => {
  expect(planOf([], { source: 's', isOpen: true })).toContain(
    '[event: string]: Record<string, unknown>;',
  );
});

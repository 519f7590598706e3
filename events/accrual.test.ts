import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  accrue,
  fromThousandths,
  MAX_THOUSANDTHS,
  NO_ACCRUAL,
  toThousandths,
  type Accrual,
} from './accrual.ts';

type Step = [event: string, revenue: number, timestamp: number];
const fold = (steps: readonly Step[], from: Accrual = NO_ACCRUAL) =>
  steps.reduce(
    (before, [event, revenue, timestamp]) => accrue(before, { event, revenue, timestamp }),
    from,
  );

describe('effect of a name on the profile (ingest 2.3)', () => {
  test.each<[string, Step[], Accrual]>([
    ['nothing', [], { totalRevenue: 0n, orderCount: 0, lastOrderAt: undefined }],
    [
      'an order',
      [['order_completed', 1000, 5]],
      { totalRevenue: 1_000_000n, orderCount: 1, lastOrderAt: 5 },
    ],
    [
      'an order of nothing counts',
      [['order_completed', 0, 5]],
      { totalRevenue: 0n, orderCount: 1, lastOrderAt: 5 },
    ],
    [
      'last_order_at moves forward only',
      [
        ['order_completed', 1, 9],
        ['order_completed', 1, 5],
      ],
      { totalRevenue: 2000n, orderCount: 2, lastOrderAt: 9 },
    ],
    [
      'a refund',
      [
        ['order_completed', 10, 1],
        ['order_refunded', 4, 2],
      ],
      { totalRevenue: 6000n, orderCount: 0, lastOrderAt: 1 },
    ],
    [
      'a refund sent as a negative amount',
      [
        ['order_completed', 10, 1],
        ['order_refunded', -4, 2],
      ],
      { totalRevenue: 6000n, orderCount: 0, lastOrderAt: 1 },
    ],
    [
      'a cancelled order',
      [
        ['order_completed', 10, 1],
        ['order_cancelled', 10, 2],
      ],
      { totalRevenue: 0n, orderCount: 0, lastOrderAt: 1 },
    ],
    [
      'both floors',
      [
        ['order_cancelled', 10, 1],
        ['order_completed', 3, 2],
      ],
      { totalRevenue: 3000n, orderCount: 1, lastOrderAt: 2 },
    ],
    [
      'the floor makes the order matter',
      [
        ['order_completed', 3, 2],
        ['order_cancelled', 10, 1],
      ],
      { totalRevenue: 0n, orderCount: 0, lastOrderAt: 2 },
    ],
    [
      'any other name adds',
      [['subscription_paid', 7.5, 3]],
      { totalRevenue: 7500n, orderCount: 0, lastOrderAt: undefined },
    ],
    [
      'any other name adds a negative amount as well',
      [['adjusted', -2, 3]],
      { totalRevenue: -2000n, orderCount: 0, lastOrderAt: undefined },
    ],
    [
      'names are exact',
      [['Order_Completed', 1, 3]],
      { totalRevenue: 1000n, orderCount: 0, lastOrderAt: undefined },
    ],
  ])('%s', (_, steps, expected) => {
    expect(fold(steps)).toEqual(expected);
  });
});

test.each<[number, bigint]>([
  [0, 0n],
  [-0, 0n],
  [1, 1000n],
  [0.1, 100n],
  [0.0004, 0n],
  [0.0005, 1n],
  [1.0005, 1001n],
  [-1.0005, -1001n],
  [2.00049999, 2000n],
  [1e-9, 0n],
  [9_007_199_254_740_991, 9_007_199_254_740_991_000n],
  [1e21, 10n ** 24n],
  [1e300, MAX_THOUSANDTHS],
  [-1e300, -MAX_THOUSANDTHS],
  [Infinity, 0n],
  [NaN, 0n],
])('%d is %d thousandths', (amount, thousandths) => {
  expect(toThousandths(amount)).toBe(thousandths);
});

test('a tenth, ten times, is one', () => {
  expect(
    fromThousandths(fold(Array.from({ length: 10 }, (): Step => ['paid', 0.1, 0])).totalRevenue),
  ).toBe(1);
});

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('order_completed', 'order_refunded', 'order_cancelled', 'paid'),
  fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.double({ noNaN: true, min: -1e6, max: 1e6 })),
  fc.nat(),
);

test('the fold may be cut anywhere', () => {
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (first, second) => {
      expect(fold([...first, ...second])).toEqual(fold(second, fold(first)));
    }),
  );
});

test('without refunds the sum does not depend on the order, to the last thousandth', () => {
  fc.assert(
    fc.property(
      fc.array(step.filter(([event]) => event === 'order_completed' || event === 'paid')),
      (steps) => {
        expect(fold(steps)).toEqual(fold([...steps].reverse()));
      },
    ),
  );
});

test('never below zero after a refund, and order_count never below zero', () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const after = fold([...steps, ['order_refunded', 1, 0]]);
      expect(after.totalRevenue >= 0n).toBe(true);
      expect(after.orderCount).toBeGreaterThanOrEqual(0);
    }),
  );
});

test('whole rials add up as numbers do', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1_000_000_000 })), (amounts) => {
      const total = fold(
        amounts.map((amount): Step => ['order_completed', amount, 0]),
      ).totalRevenue;
      expect(fromThousandths(total)).toBe(amounts.reduce((sum, amount) => sum + amount, 0));
    }),
  );
});

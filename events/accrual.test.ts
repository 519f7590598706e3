import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  accrue,
  fromThousandths,
  MAX_THOUSANDTHS,
  NO_ACCRUAL,
  toThousandths,
  type Accrual,
} from './accrual.ts';
import { evolver } from './testing/given.ts';

type Step = [event: string, revenue: number, timestamp: number];
const fold = (steps: readonly Step[], from: Accrual = NO_ACCRUAL) =>
  steps.reduce(
    (before, [event, revenue, timestamp]) => accrue(before, { event, revenue, timestamp }),
    from,
  );

const happens = (event: string, revenue: number, timestamp: number) => ({
  event,
  revenue,
  timestamp,
});
const order = (revenue: number, at: number) => happens('order_completed', revenue, at);
const cancel = (revenue: number, at: number) => happens('order_cancelled', revenue, at);
const refund = (revenue: number, at: number) => happens('order_refunded', revenue, at);

describe('the totals of a profile (ingest 2.3)', () => {
  const { given } = evolver(accrue);
  const newProfile = given(NO_ACCRUAL);

  it('are zero without events', () => {
    newProfile.when().then(NO_ACCRUAL);
  });
  it('include the amount of an order', () => {
    newProfile
      .when(order(1000, 5))
      .then({ totalRevenue: 1_000_000n, orderCount: 1, lastOrderAt: 5 });
  });
  it('count an order without an amount', () => {
    newProfile.when(order(0, 5)).then({ totalRevenue: 0n, orderCount: 1, lastOrderAt: 5 });
  });
  it('never move last_order_at backwards', () => {
    newProfile.when(order(1, 9), order(1, 5)).then({ orderCount: 2, lastOrderAt: 9 });
  });
  it.each([4, -4])('are reduced by a refund of %d', (amount) => {
    newProfile
      .when(order(10, 1), refund(amount, 2))
      .then({ totalRevenue: 6000n, orderCount: 0, lastOrderAt: 1 });
  });
  it('are reduced by a cancelled order', () => {
    newProfile.when(order(10, 1), cancel(10, 2)).then({ totalRevenue: 0n, orderCount: 0 });
  });
  it('never fall below zero, so the order of events matters', () => {
    newProfile.when(cancel(10, 1), order(3, 2)).then({ totalRevenue: 3000n, orderCount: 1 });
    newProfile.when(order(3, 2), cancel(10, 1)).then({ totalRevenue: 0n, orderCount: 0 });
  });
  it.each([
    ['subscription_paid', 7.5, 7500n],
    ['adjusted', -2, -2000n],
    ['Order_Completed', 1, 1000n],
  ])('include the amount of %s, which is no order, without a floor', (event, amount, total) => {
    newProfile
      .when(happens(event, amount, 3))
      .then({ totalRevenue: total, orderCount: 0, lastOrderAt: undefined });
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
])('the amount %d is %d thousandths', (amount, thousandths) => {
  expect(toThousandths(amount)).toBe(thousandths);
});

test('ten orders of 0.1 add up to exactly 1', () => {
  expect(
    fromThousandths(fold(Array.from({ length: 10 }, (): Step => ['paid', 0.1, 0])).totalRevenue),
  ).toBe(1);
});

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('order_completed', 'order_refunded', 'order_cancelled', 'paid'),
  fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.double({ noNaN: true, min: -1e6, max: 1e6 })),
  fc.nat(),
);

test('folding in two steps gives the same result as in one', () => {
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (first, second) => {
      expect(fold([...first, ...second])).toEqual(fold(second, fold(first)));
    }),
  );
});

test('without refunds the sum does not depend on the order of the events', () => {
  fc.assert(
    fc.property(
      fc.array(step.filter(([event]) => event === 'order_completed' || event === 'paid')),
      (steps) => {
        expect(fold(steps)).toEqual(fold([...steps].reverse()));
      },
    ),
  );
});

test('a refund never makes the total or the order count negative', () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const after = fold([...steps, ['order_refunded', 1, 0]]);
      expect(after.totalRevenue >= 0n).toBe(true);
      expect(after.orderCount).toBeGreaterThanOrEqual(0);
    }),
  );
});

test('whole rials add up exactly', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1_000_000_000 })), (amounts) => {
      const total = fold(
        amounts.map((amount): Step => ['order_completed', amount, 0]),
      ).totalRevenue;
      expect(fromThousandths(total)).toBe(amounts.reduce((sum, amount) => sum + amount, 0));
    }),
  );
});

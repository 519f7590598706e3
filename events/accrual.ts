import { numberText } from './values.ts';

/**
 * Order count and revenue of a profile (ingest 2.3, "Profile accrual"). Amounts are whole
 * thousandths of the currency unit, as bigint: exact sums, whatever the order of the additions.
 * toThousandths is the only place that rounds.
 */
export interface Accrual {
  totalRevenue: bigint;
  orderCount: number;
  /** Milliseconds since the epoch; undefined before the first order. */
  lastOrderAt: number | undefined;
}

export const NO_ACCRUAL: Accrual = { totalRevenue: 0n, orderCount: 0, lastOrderAt: undefined };

/** Totals are clamped to what Decimal(38, 3) holds: 10^35 - 0.001 units. */
export const MAX_THOUSANDTHS = 10n ** 38n - 1n;

/**
 * Converts an amount to whole thousandths. Works on the decimal text (numberText); digits past the
 * third are rounded half away from zero. NaN and infinities count as 0.
 */
export function toThousandths(amount: number): bigint {
  if (amount === 0 || !Number.isFinite(amount)) return 0n;
  if (Number.isSafeInteger(amount)) return BigInt(amount) * 1000n;
  const text = numberText(Math.abs(amount));
  const [whole = '0', decimals = ''] = text.split('.');
  const kept =
    BigInt(whole + decimals.slice(0, 3).padEnd(3, '0')) + (decimals.charAt(3) >= '5' ? 1n : 0n);
  return clamp(amount < 0 ? -kept : kept);
}

/** The total as a float64; exact below 9 * 10^12 units. */
export function fromThousandths(total: bigint): number {
  return total % 1000n === 0n ? Number(total / 1000n) : Number(total) / 1000;
}

/**
 * Applies the next event of a distinct id, in log order (the floor at zero makes order matter).
 * order_completed adds. order_refunded and order_cancelled subtract the absolute amount, down to
 * zero. Any other event adds its amount, even a negative one, without a floor. last_order_at never
 * decreases.
 */
export function accrue(
  before: Accrual,
  event: { event: string; revenue: number; timestamp: number },
): Accrual {
  const amount = toThousandths(event.revenue);
  switch (event.event) {
    case 'order_completed':
      return {
        totalRevenue: clamp(before.totalRevenue + amount),
        orderCount: before.orderCount + 1,
        lastOrderAt:
          before.lastOrderAt === undefined
            ? event.timestamp
            : Math.max(before.lastOrderAt, event.timestamp),
      };
    case 'order_refunded':
    case 'order_cancelled':
      return {
        totalRevenue: atLeastZero(before.totalRevenue - (amount < 0n ? -amount : amount)),
        orderCount: Math.max(before.orderCount - 1, 0),
        lastOrderAt: before.lastOrderAt,
      };
    default:
      return amount === 0n
        ? before
        : { ...before, totalRevenue: clamp(before.totalRevenue + amount) };
  }
}

function atLeastZero(total: bigint): bigint {
  return total < 0n ? 0n : total;
}

function clamp(thousandths: bigint): bigint {
  if (thousandths > MAX_THOUSANDTHS) return MAX_THOUSANDTHS;
  return thousandths < -MAX_THOUSANDTHS ? -MAX_THOUSANDTHS : thousandths;
}

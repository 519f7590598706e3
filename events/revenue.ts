import { truncateBytes } from './bytes.ts';
import type { ValueMaps } from './properties.ts';

/** Properties that name an amount, in the order they are asked (ingest 2.3, "Revenue"). */
const AMOUNTS = ['revenue', 'total', 'value'] as const;

const DEFAULT_CURRENCY = 'IRR';
const MAX_CURRENCY_BYTES = 8;

/**
 * A property that was sent as a JSON number: not a boolean (which stands in the number map as 1 or
 * 0) and not a numeric string. 0 when there is none.
 */
function numberSent({ text, numbers }: ValueMaps, key: string): number {
  if (!Object.hasOwn(numbers, key)) return 0;
  const isBoolean = text[key] === 'true' || text[key] === 'false';
  return isBoolean ? 0 : (numbers[key] ?? 0);
}

/**
 * The amount of an event (ingest 2.3): the first of revenue, total and value that is a number other
 * than zero; otherwise price times quantity, with quantity 1 when it is absent, no number, or not
 * positive. May be negative. A product that overflows counts as 0.
 */
export function extractRevenue(properties: ValueMaps): number {
  for (const key of AMOUNTS) {
    const amount = numberSent(properties, key);
    if (amount !== 0) return amount;
  }
  const price = numberSent(properties, 'price');
  if (price === 0) return 0;
  const quantity = numberSent(properties, 'quantity');
  const amount = price * (quantity > 0 ? quantity : 1);
  return Number.isFinite(amount) ? amount : 0;
}

/**
 * The currency of an event (ingest 2.3): the text of the property, upper-cased, cut to 8 bytes; IRR
 * when it is absent or empty. Amounts are never converted.
 */
export function extractCurrency(properties: ValueMaps): string {
  const sent = Object.hasOwn(properties.text, 'currency') ? properties.text['currency'] : undefined;
  if (sent === undefined || sent === '') return DEFAULT_CURRENCY;
  return sent === DEFAULT_CURRENCY
    ? sent
    : truncateBytes(sent.toUpperCase(), MAX_CURRENCY_BYTES).trimEnd();
}

import { truncateBytes } from './bytes.ts';
import type { ValueMaps } from './properties.ts';

/** Properties that hold an amount, in order of precedence (ingest 2.3, "Revenue"). */
const AMOUNTS = ['revenue', 'total', 'value'] as const;

const DEFAULT_CURRENCY = 'IRR';
const MAX_CURRENCY_BYTES = 8;

/**
 * A property that was sent as a JSON number; 0 otherwise. Booleans are excluded (the number map
 * stores them as 1 and 0), and so are numeric strings.
 */
function numberSent({ text, numbers }: ValueMaps, key: string): number {
  if (!Object.hasOwn(numbers, key)) return 0;
  const isBoolean = text[key] === 'true' || text[key] === 'false';
  return isBoolean ? 0 : (numbers[key] ?? 0);
}

/**
 * The amount of an event (ingest 2.3): the first non-zero number of revenue, total and value;
 * otherwise price times quantity, with quantity 1 when it is absent, not a number, or not positive.
 * May be negative. An overflowing product counts as 0.
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
 * The currency of an event (ingest 2.3): the property's text in upper case, at most 8 bytes; IRR
 * when absent or empty. Amounts are never converted.
 */
export function extractCurrency(properties: ValueMaps): string {
  const sent = Object.hasOwn(properties.text, 'currency') ? properties.text['currency'] : undefined;
  if (sent === undefined || sent === '') return DEFAULT_CURRENCY;
  return sent === DEFAULT_CURRENCY
    ? sent
    : truncateBytes(sent.toUpperCase(), MAX_CURRENCY_BYTES).trimEnd();
}

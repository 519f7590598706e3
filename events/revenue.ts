import { truncateBytes } from './bytes.ts';
import type { ValueMaps } from './properties.ts';

/** Properties of an event that were sent as JSON numbers; 0 for those that were not. */
export interface Amounts {
  revenue: number;
  total: number;
  value: number;
  price: number;
  quantity: number;
}

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

/** The amount of an event, from its properties: see revenueOf. */
export function extractRevenue(properties: ValueMaps): number {
  return revenueOf({
    revenue: numberSent(properties, 'revenue'),
    total: numberSent(properties, 'total'),
    value: numberSent(properties, 'value'),
    price: numberSent(properties, 'price'),
    quantity: numberSent(properties, 'quantity'),
  });
}

/**
 * The amount of an event (ingest 2.3): the first non-zero number of revenue, total and value;
 * otherwise price times quantity, with quantity 1 when it is absent, not a number, or not positive.
 * May be negative. An overflowing product counts as 0.
 */
export function revenueOf({ revenue, total, value, price, quantity }: Amounts): number {
  const sent = revenue || total || value;
  if (sent !== 0) return sent;
  if (price === 0) return 0;
  const amount = price * (quantity > 0 ? quantity : 1);
  return Number.isFinite(amount) ? amount : 0;
}

/** The currency of an event, from its properties: see currencyOf. */
export function extractCurrency(properties: ValueMaps): string {
  return currencyOf(
    Object.hasOwn(properties.text, 'currency') ? properties.text['currency'] : undefined,
  );
}

/**
 * The currency of an event (ingest 2.3): the property's text in upper case, at most 8 bytes; IRR
 * when absent or empty. Amounts are never converted.
 */
export function currencyOf(sent: string | undefined): string {
  if (sent === undefined || sent === '') return DEFAULT_CURRENCY;
  return sent === DEFAULT_CURRENCY
    ? sent
    : truncateBytes(sent.toUpperCase(), MAX_CURRENCY_BYTES).trimEnd();
}

import type { JsonObject } from '../json.ts';
import { amountField, firstText, objectsField, textField } from './fields.ts';

/** Transactions that did not move money. */
const WITHOUT_MONEY: readonly string[] = ['failure', 'error', 'pending'];

/**
 * The amount of an order, a checkout or a refund; 0 when none is told. A refund has no total: what
 * its refund transactions paid back counts, and without any the sum of its lines with their tax.
 */
export function orderAmount(body: JsonObject): { amount: number; currency: string } {
  const paidBack = objectsField(body, 'transactions').filter(
    (one) =>
      textField(one, 'kind') === 'refund' && !WITHOUT_MONEY.includes(textField(one, 'status')),
  );
  const lines = objectsField(body, 'refund_line_items');
  const currency = firstText(
    textField(body, 'currency'),
    ...paidBack.map((one) => textField(one, 'currency')),
  );
  if (paidBack.length > 0)
    return { amount: sum(paidBack.map((one) => amountField(one, 'amount'))), currency };
  const total = amountField(body, 'total_price');
  if (total !== undefined) return { amount: total, currency };
  return {
    amount: sum(
      lines.flatMap((line) => [amountField(line, 'subtotal'), amountField(line, 'total_tax')]),
    ),
    currency,
  };
}

/** Prices have a few decimals; what adding them as float64 leaves behind the sixth is cut. */
function sum(amounts: readonly (number | undefined)[]): number {
  const total = amounts.reduce<number>((so, amount) => so + (amount ?? 0), 0);
  const rounded = Math.round(total * 1e6) / 1e6;
  return Number.isFinite(rounded) ? rounded : total;
}

import type { JsonObject } from '../json.ts';
import { amountField, firstText, objectsField, textField } from './fields.ts';

/** Transactions that moved no money. */
const WITHOUT_MONEY: readonly string[] = ['failure', 'error', 'pending'];

/**
 * The amount of an order, a checkout or a refund; 0 when there is none. A refund has no total: it
 * is the sum of its refund transactions, or else of its lines with tax.
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

/** Prices have a few decimals; rounding to six removes the error of float64 addition. */
function sum(amounts: readonly (number | undefined)[]): number {
  const total = amounts.reduce<number>((so, amount) => so + (amount ?? 0), 0);
  const rounded = Math.round(total * 1e6) / 1e6;
  return Number.isFinite(rounded) ? rounded : total;
}

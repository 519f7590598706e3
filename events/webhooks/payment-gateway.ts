import { amountField, idField, textField } from './fields.ts';
import { marketEvent } from './market-event.ts';
import { skip, unhandledTopic, type SourceMapping } from './mapping.ts';
import { topicOf } from './topic.ts';

const SOURCE = 'payment_gateway';
/** Not an order: shops whose orders also come from their storefront would count each one twice. */
const EVENT = 'payment_completed';
const TOPICS: readonly string[] = ['', 'payment', 'verify'];
const SUCCESSFUL: readonly string[] = ['', 'OK', '100', 'SUCCESS'];
const RIALS_PER_TOMAN = 10;

/**
 * Payments: {authority, ref_id, amount (toman), status, email, mobile, order_id, created_at}. Only
 * a successful one is an event.
 */
export const mapPaymentGateway: SourceMapping = (body, headers) => {
  const topic = topicOf(SOURCE, headers);
  if (!TOPICS.includes(topic)) return unhandledTopic(topic);
  const status = textField(body, 'status');
  if (!SUCCESSFUL.includes(status.toUpperCase())) return skip(`payment not settled: ${status}`);
  const email = textField(body, 'email');
  const orderId = idField(body, 'order_id') ?? '';
  const refId = textField(body, 'ref_id');
  const toman = amountField(body, 'amount');
  return marketEvent({
    source: SOURCE,
    event: EVENT,
    contact: { phone: textField(body, 'mobile'), email },
    ids: [orderId, refId],
    createdAt: textField(body, 'created_at'),
    traits: { first_name: textField(body, 'name'), email: email.toLowerCase() },
    properties: {
      ref_id: refId,
      authority: textField(body, 'authority'),
      currency: 'IRR',
      order_id: orderId,
      revenue: toman === undefined ? undefined : toman * RIALS_PER_TOMAN,
      amount_toman: toman,
    },
  });
};

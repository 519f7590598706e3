import { amountField, idField, textField } from './fields.ts';
import {
  NO_IDENTITY,
  present,
  single,
  skip,
  unhandledTopic,
  type SourceMapping,
} from './mapping.ts';
import { marketKey, messageId } from './message-id.ts';
import { e164, marketIdentity, traitsOf } from './people.ts';
import { deliveryTime } from './times.ts';
import { topicOf } from './topic.ts';

const SOURCE = 'payment_gateway';
/** Not an order: shops whose orders also come from their storefront would count each one twice. */
const EVENT = 'payment_completed';
const TOPICS: readonly string[] = ['', 'payment', 'verify'];
const SETTLED: readonly string[] = ['', 'OK', '100', 'SUCCESS'];
const RIALS_PER_TOMAN = 10;

/**
 * Payments: {authority, ref_id, amount (toman), status, email, mobile, order_id, created_at}. Only
 * a successful one is an event.
 */
export const mapPaymentGateway: SourceMapping = (body, headers) => {
  const topic = topicOf(SOURCE, headers);
  if (!TOPICS.includes(topic)) return unhandledTopic(topic);
  const status = textField(body, 'status');
  if (!SETTLED.includes(status.toUpperCase())) return skip(`payment not settled: ${status}`);
  const phone = textField(body, 'mobile');
  const email = textField(body, 'email');
  const userId = marketIdentity({ phone, email });
  if (userId === '') return NO_IDENTITY;
  const orderId = idField(body, 'order_id') ?? '';
  const refId = textField(body, 'ref_id');
  const toman = amountField(body, 'amount');
  const timestamp = deliveryTime(textField(body, 'created_at'));
  const traits = traitsOf({
    first_name: textField(body, 'name'),
    phone: e164(phone),
    email: email.toLowerCase(),
  });
  return single({
    type: 'track',
    event: EVENT,
    user_id: userId,
    message_id: messageId(SOURCE, EVENT, marketKey({ orderId, refId, userId })),
    ...(timestamp === undefined ? {} : { timestamp }),
    properties: present({
      source: SOURCE,
      ref_id: refId,
      authority: textField(body, 'authority'),
      currency: 'IRR',
      order_id: orderId,
      revenue: toman === undefined ? undefined : toman * RIALS_PER_TOMAN,
      amount_toman: toman,
    }),
    ...(traits ? { traits } : {}),
  });
};

import { amountField, objectField, textField } from './fields.ts';
import { NO_IDENTITY, present, single, unhandledTopic, type SourceMapping } from './mapping.ts';
import { marketKey, messageId } from './message-id.ts';
import { e164, marketIdentity, traitsOf } from './people.ts';
import { deliveryTime } from './times.ts';
import { topicOf } from './topic.ts';

const SOURCE = 'handmade_marketplace';

const EVENTS: Readonly<Record<string, string>> = {
  '': 'order_completed',
  'order.paid': 'order_completed',
  'order.created': 'order_completed',
  'order.cancelled': 'order_cancelled',
  'order.canceled': 'order_cancelled',
};

/**
 * Orders of the handmade marketplace: {id, status, created_at, amount, customer {id, mobile,
 * username, name}, product {id, title}}. Rials.
 */
export const mapHandmadeMarketplace: SourceMapping = (body, headers) => {
  const topic = topicOf(SOURCE, headers);
  const event = Object.hasOwn(EVENTS, topic) ? EVENTS[topic] : undefined;
  if (event === undefined) return unhandledTopic(topic);
  const customer = objectField(body, 'customer');
  const product = objectField(body, 'product');
  const phone = textField(customer, 'mobile');
  const userId = marketIdentity({ phone, platformId: textField(customer, 'id') });
  if (userId === '') return NO_IDENTITY;
  const orderId = textField(body, 'id');
  const timestamp = deliveryTime(textField(body, 'created_at'));
  const traits = traitsOf({
    first_name: textField(customer, 'name'),
    username: textField(customer, 'username'),
    phone: e164(phone),
  });
  return single({
    type: 'track',
    event,
    user_id: userId,
    message_id: messageId(SOURCE, event, marketKey({ orderId, userId })),
    ...(timestamp === undefined ? {} : { timestamp }),
    properties: present({
      order_id: orderId,
      source: SOURCE,
      currency: 'IRR',
      revenue: amountField(body, 'amount'),
      product_id: textField(product, 'id'),
      product_name: textField(product, 'title'),
    }),
    ...(traits ? { traits } : {}),
  });
};

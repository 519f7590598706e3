import { amountField, objectField, objectsField, textField } from './fields.ts';
import { NO_IDENTITY, present, single, unhandledTopic, type SourceMapping } from './mapping.ts';
import { marketKey, messageId } from './message-id.ts';
import { e164, marketIdentity, traitsOf } from './people.ts';
import { deliveryTime } from './times.ts';
import { topicOf } from './topic.ts';

const SOURCE = 'retail_marketplace';

const EVENTS: Readonly<Record<string, string>> = {
  '': 'order_completed',
  'order.created': 'order_completed',
  'order.confirmed': 'order_completed',
  'order.cancelled': 'order_cancelled',
  'order.canceled': 'order_cancelled',
  'order.returned': 'order_refunded',
  'order.refunded': 'order_refunded',
};

/**
 * Orders of the retail marketplace: {order_id, status, created_at, total_price, customer {id,
 * mobile, name}, items [{product_id, title, quantity, price}]}. Rials.
 */
export const mapRetailMarketplace: SourceMapping = (body, headers) => {
  const topic = topicOf(SOURCE, headers);
  const event = Object.hasOwn(EVENTS, topic) ? EVENTS[topic] : undefined;
  if (event === undefined) return unhandledTopic(topic);
  const customer = objectField(body, 'customer');
  const phone = textField(customer, 'mobile');
  const userId = marketIdentity({ phone, platformId: textField(customer, 'id') });
  if (userId === '') return NO_IDENTITY;
  const orderId = textField(body, 'order_id');
  const items = objectsField(body, 'items');
  const timestamp = deliveryTime(textField(body, 'created_at'));
  const traits = traitsOf({ first_name: textField(customer, 'name'), phone: e164(phone) });
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
      revenue: amountField(body, 'total_price'),
      item_count: items.length,
      product_id: textField(items[0], 'product_id'),
      product_name: textField(items[0], 'title'),
    }),
    ...(traits ? { traits } : {}),
  });
};

import type { JsonObject } from '../json.ts';
import { amountField, objectField, objectsField, textField } from './fields.ts';
import { marketEvent } from './market-event.ts';
import { unhandledTopic, type SourceMapping } from './mapping.ts';
import { topicOf } from './topic.ts';

type EventsByTopic = Readonly<Record<string, string>>;

const RETAIL_EVENTS: EventsByTopic = {
  '': 'order_completed',
  'order.created': 'order_completed',
  'order.confirmed': 'order_completed',
  'order.cancelled': 'order_cancelled',
  'order.canceled': 'order_cancelled',
  'order.returned': 'order_refunded',
  'order.refunded': 'order_refunded',
};

const HANDMADE_EVENTS: EventsByTopic = {
  '': 'order_completed',
  'order.paid': 'order_completed',
  'order.created': 'order_completed',
  'order.cancelled': 'order_cancelled',
  'order.canceled': 'order_cancelled',
};

/**
 * Orders of the retail marketplace: {order_id, status, created_at, total_price, customer {id,
 * mobile, name}, items [{product_id, title, quantity, price}]}. Amounts are in rials.
 */
export const mapRetailMarketplace = marketplace('retail_marketplace', RETAIL_EVENTS, (body) => {
  const items = objectsField(body, 'items');
  return {
    orderId: textField(body, 'order_id'),
    properties: {
      revenue: amountField(body, 'total_price'),
      item_count: items.length,
      product_id: textField(items[0], 'product_id'),
      product_name: textField(items[0], 'title'),
    },
    traits: {},
  };
});

/**
 * Orders of the handmade marketplace: {id, status, created_at, amount, customer {id, mobile,
 * username, name}, product {id, title}}. Amounts are in rials.
 */
export const mapHandmadeMarketplace = marketplace(
  'handmade_marketplace',
  HANDMADE_EVENTS,
  (body) => {
    const product = objectField(body, 'product');
    return {
      orderId: textField(body, 'id'),
      properties: {
        revenue: amountField(body, 'amount'),
        product_id: textField(product, 'id'),
        product_name: textField(product, 'title'),
      },
      traits: { username: textField(objectField(body, 'customer'), 'username') },
    };
  },
);

interface MarketplaceOrder {
  orderId: string;
  properties: Readonly<Record<string, unknown>>;
  traits: Readonly<Record<string, unknown>>;
}

function marketplace(
  source: 'retail_marketplace' | 'handmade_marketplace',
  events: EventsByTopic,
  readOrder: (body: JsonObject) => MarketplaceOrder,
): SourceMapping {
  return (body, headers) => {
    const topic = topicOf(source, headers);
    const event = Object.hasOwn(events, topic) ? events[topic] : undefined;
    if (event === undefined) return unhandledTopic(topic);
    const customer = objectField(body, 'customer');
    const { orderId, properties, traits } = readOrder(body);
    return marketEvent({
      source,
      event,
      contact: { phone: textField(customer, 'mobile'), platformId: textField(customer, 'id') },
      ids: [orderId],
      createdAt: textField(body, 'created_at'),
      traits: { first_name: textField(customer, 'name'), ...traits },
      properties: { order_id: orderId, currency: 'IRR', ...properties },
    });
  };
}

import { idField, objectField, objectsField, textField, firstText } from './fields.ts';
import type { JsonObject } from '../json.ts';
import { orderAmount } from './hosted-amount.ts';
import { customerContact, customerTraits, orderContact } from './hosted-contact.ts';
import {
  NO_IDENTITY,
  present,
  single,
  unhandledTopic,
  type MappedEvent,
  type Mapping,
  type SourceMapping,
} from './mapping.ts';
import { messageId } from './message-id.ts';
import { storefrontIdentity } from './contact.ts';
import { deliveryTime } from './times.ts';
import { topicOf } from './topic.ts';

const SOURCE = 'hosted_storefront';

interface OrderTopic {
  event: string;
  /** Fields with the time of the event; the first readable one counts. */
  times: readonly string[];
}

const ORDERS: Readonly<Record<string, OrderTopic>> = {
  'orders/create': { event: 'order_completed', times: ['created_at'] },
  'orders/paid': { event: 'order_completed', times: ['created_at'] },
  'orders/cancelled': {
    event: 'order_cancelled',
    times: ['cancelled_at', 'updated_at', 'created_at'],
  },
  'refunds/create': { event: 'order_refunded', times: ['processed_at', 'created_at'] },
  'checkouts/create': { event: 'checkout_started', times: ['created_at'] },
  'checkouts/update': { event: 'checkout_started', times: ['updated_at', 'created_at'] },
};

const CUSTOMERS: Readonly<Record<string, readonly string[]>> = {
  'customers/create': ['created_at'],
  'customers/update': ['updated_at', 'created_at'],
};

/** Orders, refunds, checkouts and customers of the hosted storefront. */
export const mapHostedStorefront: SourceMapping = (body, headers) => {
  const topic = topicOf(SOURCE, headers);
  const order = Object.hasOwn(ORDERS, topic) ? ORDERS[topic] : undefined;
  if (order) return mapOrder(body, order);
  const times = Object.hasOwn(CUSTOMERS, topic) ? CUSTOMERS[topic] : undefined;
  return times ? mapCustomer(body, times) : unhandledTopic(topic);
};

function mapOrder(body: JsonObject, { event, times }: OrderTopic): Mapping {
  const userId = storefrontIdentity(orderContact(body));
  if (userId === '') return NO_IDENTITY;
  // A refund has its own id and that of its order.
  const orderId =
    (event === 'order_refunded' ? idField(body, 'order_id') : undefined) ?? textField(body, 'id');
  const traits = customerTraits(objectField(body, 'customer'), body);
  return single({
    type: 'track',
    event,
    user_id: userId,
    message_id: messageId(SOURCE, event, orderId),
    ...happened(body, times),
    properties: present({
      order_id: orderId,
      order_number: textField(body, 'order_number') || orderId,
      source: SOURCE,
      ...lineProperties(body),
      checkout_url: textField(body, 'abandoned_checkout_url'),
      ...amountProperties(body),
    }),
    ...(traits ? { traits } : {}),
  });
}

function lineProperties(body: JsonObject): JsonObject {
  const own = objectsField(body, 'line_items');
  const lines =
    own.length > 0
      ? own
      : objectsField(body, 'refund_line_items').map((line) => objectField(line, 'line_item') ?? {});
  const [first] = lines;
  if (!first) return {};
  const skus = lines.map((line) => textField(line, 'sku')).filter((sku) => sku !== '');
  return {
    product_id: firstText(textField(first, 'sku'), textField(first, 'product_id')),
    product_name: firstText(textField(first, 'title'), textField(first, 'name')),
    item_count: String(lines.length),
    product_ids: skus.join(','),
  };
}

function amountProperties(body: JsonObject): JsonObject {
  const { amount, currency } = orderAmount(body);
  return amount > 0 ? { revenue: amount, currency: currency || 'IRR' } : {};
}

function mapCustomer(body: JsonObject, times: readonly string[]): Mapping {
  const userId = storefrontIdentity(customerContact(body));
  if (userId === '') return NO_IDENTITY;
  const traits = customerTraits(body, body);
  return single({
    type: 'identify',
    user_id: userId,
    message_id: messageId(SOURCE, 'identify', textField(body, 'id')),
    ...happened(body, times),
    ...(traits ? { traits } : {}),
  });
}

function happened(body: JsonObject, times: readonly string[]): Pick<MappedEvent, 'timestamp'> {
  const timestamp = deliveryTime(...times.map((field) => textField(body, field)));
  return timestamp === undefined ? {} : { timestamp };
}

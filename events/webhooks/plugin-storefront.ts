import { amountField, objectField, objectsField, textField } from './fields.ts';
import {
  NO_IDENTITY,
  present,
  single,
  skip,
  unhandledTopic,
  type SourceMapping,
} from './mapping.ts';
import { messageId } from './message-id.ts';
import { storefrontIdentity, traitsOf } from './contact.ts';
import { deliveryTime } from './times.ts';
import { topicOf } from './topic.ts';

const SOURCE = 'plugin_storefront';
const TOPICS: readonly string[] = ['order.created', 'order.updated'];

/** The status of the order decides the event, not the topic. */
const EVENTS: Readonly<Record<string, string>> = {
  processing: 'order_completed',
  completed: 'order_completed',
  cancelled: 'order_cancelled',
  failed: 'order_cancelled',
  refunded: 'order_refunded',
  pending: 'checkout_started',
  'on-hold': 'checkout_started',
};

/** Orders of the storefront plugin: amounts are texts, people come from billing addresses. */
export const mapPluginStorefront: SourceMapping = (body, headers) => {
  const topic = topicOf(SOURCE, headers);
  if (!TOPICS.includes(topic)) return unhandledTopic(topic);
  const status = textField(body, 'status');
  const event = Object.hasOwn(EVENTS, status) ? EVENTS[status] : undefined;
  if (event === undefined) return skip(`order.${status}`);
  const billing = objectField(body, 'billing');
  const phone = textField(billing, 'phone');
  const email = textField(billing, 'email');
  const userId = storefrontIdentity({ email, phone });
  if (userId === '') return NO_IDENTITY;
  const orderId = textField(body, 'id');
  const lines = objectsField(body, 'line_items');
  const [first] = lines;
  const total = amountField(body, 'total') ?? 0;
  const timestamp = deliveryTime(textField(body, 'date_created_gmt'));
  const traits = traitsOf({
    email: email.toLowerCase(),
    phone,
    first_name: textField(billing, 'first_name'),
    last_name: textField(billing, 'last_name'),
    city: textField(billing, 'city'),
  });
  return single({
    type: 'track',
    event,
    user_id: userId,
    message_id: messageId(SOURCE, event, orderId, status),
    ...(timestamp === undefined ? {} : { timestamp }),
    properties: present({
      order_id: orderId,
      order_number: textField(body, 'number') || orderId,
      status,
      source: SOURCE,
      product_id: textField(first, 'product_id'),
      product_name: textField(first, 'name'),
      item_count: first && String(lines.length),
      revenue: total > 0 ? total : undefined,
      currency: total > 0 ? textField(body, 'currency') || 'IRR' : undefined,
    }),
    ...(traits ? { traits } : {}),
  });
};

import { amountField, textField } from './fields.ts';
import { NO_IDENTITY, present, single, unhandledTopic, type SourceMapping } from './mapping.ts';
import { marketKey, messageId } from './message-id.ts';
import { e164, marketIdentity, traitsOf } from './people.ts';
import { deliveryTime } from './times.ts';
import { topicOf } from './topic.ts';

const SOURCE = 'price_comparison';
const EVENT = 'product_viewed';
const TOPICS: readonly string[] = ['', 'click', 'referral'];

/**
 * Clicks of the price comparison: {click_id, product_id, title, price, user_id, mobile,
 * created_at}. Never an order.
 */
export const mapPriceComparison: SourceMapping = (body, headers) => {
  const topic = topicOf(SOURCE, headers);
  if (!TOPICS.includes(topic)) return unhandledTopic(topic);
  const phone = textField(body, 'mobile');
  const userId = marketIdentity({
    phone,
    email: textField(body, 'email'),
    platformId: textField(body, 'user_id'),
  });
  if (userId === '') return NO_IDENTITY;
  const clickId = textField(body, 'click_id');
  const timestamp = deliveryTime(textField(body, 'created_at'));
  const traits = traitsOf({ first_name: textField(body, 'name'), phone: e164(phone) });
  return single({
    type: 'track',
    event: EVENT,
    user_id: userId,
    message_id: messageId(SOURCE, EVENT, marketKey({ clickId, userId })),
    ...(timestamp === undefined ? {} : { timestamp }),
    properties: present({
      source: SOURCE,
      click_id: clickId,
      product_id: textField(body, 'product_id'),
      product_name: textField(body, 'title'),
      price: amountField(body, 'price'),
    }),
    ...(traits ? { traits } : {}),
  });
};

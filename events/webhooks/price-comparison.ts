import { amountField, textField } from './fields.ts';
import { marketEvent } from './market-event.ts';
import { unhandledTopic, type SourceMapping } from './mapping.ts';
import { topicOf } from './topic.ts';

const SOURCE = 'price_comparison';
const EVENT = 'product_viewed';
const TOPICS: readonly string[] = ['', 'click', 'referral'];

/** Clicks of the price comparison; never an order. */
export const mapPriceComparison: SourceMapping = (body, headers) => {
  const topic = topicOf(SOURCE, headers);
  if (!TOPICS.includes(topic)) return unhandledTopic(topic);
  const clickId = textField(body, 'click_id');
  return marketEvent({
    source: SOURCE,
    event: EVENT,
    contact: {
      phone: textField(body, 'mobile'),
      email: textField(body, 'email'),
      platformId: textField(body, 'user_id'),
    },
    ids: [clickId],
    createdAt: textField(body, 'created_at'),
    traits: { first_name: textField(body, 'name') },
    properties: {
      click_id: clickId,
      product_id: textField(body, 'product_id'),
      product_name: textField(body, 'title'),
      price: amountField(body, 'price'),
    },
  });
};

import { e164, marketIdentity, traitsOf, type Contact } from './contact.ts';
import { NO_IDENTITY, present, single, type Mapping } from './mapping.ts';
import { messageId } from './message-id.ts';
import type { WebhookSource } from './sources.ts';
import { deliveryTime } from './times.ts';

/** An event of a marketplace, the price comparison or the payment gateway (ingest 4.6). */
export function marketEvent(delivery: {
  source: WebhookSource;
  event: string;
  contact: Contact;
  /** The first one that is given is the deduplication key, else the user. */
  ids: readonly string[];
  createdAt: string;
  /** In addition to the phone. */
  traits: Readonly<Record<string, unknown>>;
  properties: Readonly<Record<string, unknown>>;
}): Mapping {
  const { source, event, contact } = delivery;
  const userId = marketIdentity(contact);
  if (userId === '') return NO_IDENTITY;
  const timestamp = deliveryTime(delivery.createdAt);
  const traits = traitsOf({ ...delivery.traits, phone: e164(contact.phone ?? '') });
  return single({
    type: 'track',
    event,
    user_id: userId,
    message_id: messageId(source, event, delivery.ids.find((id) => id !== '') ?? userId),
    ...(timestamp === undefined ? {} : { timestamp }),
    properties: present({ source, ...delivery.properties }),
    ...(traits ? { traits } : {}),
  });
}

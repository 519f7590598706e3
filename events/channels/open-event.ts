import type { EventSource } from '../../schemas/records.ts';
import type { JsonObject } from '../json.ts';
import type { OpenedBy } from './opened-by.ts';

/** What the event of an open says about its message. */
export interface OpenedMessage {
  /** A distinct id of the recipient. */
  userId: string;
  channel: string;
  /** 0: of no campaign. */
  campaignId: number;
  messageId: string;
  category: string;
  /** 0: of no template. */
  templateId: number;
  variantId: string;
  /** Names the message in tokens: 12 random bytes. */
  ref: Buffer;
}

/**
 * The message id of the event: one for all opens of a message. It is made of the ref, which nobody
 * can guess: an event that a client sends under the same id first would hide the open.
 */
export function openEventId({ ref }: Pick<OpenedMessage, 'ref'>): string {
  return `opened.${ref.toString('base64url')}`;
}

/** The event `message_opened` (ingest 6.1): a body of POST /v1/track. */
export function openEvent(message: OpenedMessage, by: OpenedBy): JsonObject {
  const { userId, channel, campaignId, messageId, category, templateId, variantId } = message;
  return {
    event: 'message_opened',
    user_id: userId,
    message_id: openEventId(message),
    properties: {
      channel,
      ...(category === '' ? {} : { category }),
      ...(templateId === 0 ? {} : { template_id: templateId }),
      opened_by: by,
    },
    context: {
      campaign: {
        message_id: messageId,
        ...(campaignId === 0 ? {} : { campaign_id: campaignId }),
        ...(variantId === '' ? {} : { variant_id: variantId }),
      },
    },
  };
}

/** The open is that of a mail proxy or a bot: the event is flagged as bot traffic. */
export function isOpenedByMachine(
  source: EventSource,
  properties: Readonly<Record<string, string>>,
): boolean {
  if (source !== 'platform') return false;
  const by = properties['opened_by'];
  return by === ('proxy' satisfies OpenedBy) || by === ('bot' satisfies OpenedBy);
}

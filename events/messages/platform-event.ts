import { createHmac, type KeyObject } from 'node:crypto';
import {
  MESSAGE_STATUSES,
  type MessageOutcome,
  type MessageStatus,
} from '../../schemas/records.ts';
import type { JsonObject } from '../json.ts';
import { isTestMessage } from './message-id.ts';

/** The event of each outcome (ingest 6.1); a skipped message has none. */
const EVENTS: Readonly<Record<MessageStatus, string | undefined>> = {
  sent: 'message_sent',
  failed: 'message_failed',
  withheld: 'message_withheld',
  skipped: undefined,
};

/** Bytes of the HMAC in an id. */
const ID_BYTES = 24;

type Outcome = Pick<
  MessageOutcome,
  | ('account_id' | 'message_id' | 'campaign_id' | 'template_id')
  | ('channel' | 'category' | 'person_id' | 'user_id' | 'status' | 'reason' | 'finished_at')
>;

/** An event that the platform writes itself, before it is claimed and published. */
export interface PlatformEvent {
  messageId: string;
  /** Whose event it is: an event belongs to the partition of its distinct id. */
  distinctId: string;
  /** ms since the epoch */
  timestamp: number;
  /** A body of POST /v1/track. */
  body: JsonObject;
}

/**
 * The message id of the event about a message's outcome: one for each message, the same whenever it
 * is written again. Ids of messages can be guessed: a client that knew this one could send an event
 * under it first and hide the outcome. So it is an HMAC under a key that only the installation has.
 * @param key platform/messages/event-key.ts
 */
export function outcomeEventId(
  { account_id, message_id }: Pick<MessageOutcome, 'account_id' | 'message_id'>,
  key: KeyObject,
): string {
  const mac = createHmac('sha256', key).update(`${account_id}\0${message_id}`).digest();
  return `message.${mac.subarray(0, ID_BYTES).toString('base64url')}`;
}

/**
 * The event `message_sent`, `message_failed` or `message_withheld`. Undefined: the message was
 * skipped, or its person was erased.
 */
export function platformEvent(outcome: Outcome, key: KeyObject): PlatformEvent | undefined {
  const { channel, category, reason } = outcome;
  const status = MESSAGE_STATUSES.find((known) => known === outcome.status);
  const event = status && EVENTS[status];
  const distinctId = outcome.user_id || outcome.person_id;
  if (event === undefined || distinctId === '') return undefined;
  const messageId = outcomeEventId(outcome, key);
  return {
    ...{ messageId, distinctId, timestamp: outcome.finished_at },
    body: {
      event,
      user_id: distinctId,
      message_id: messageId,
      timestamp: new Date(outcome.finished_at).toISOString(),
      properties: {
        ...{ channel, category },
        ...(outcome.template_id === 0 ? {} : { template_id: outcome.template_id }),
        ...(reason === '' ? {} : { reason }),
        ...(isTestMessage(outcome.message_id) ? { test: true } : {}),
      },
      context: {
        campaign: {
          message_id: outcome.message_id,
          ...(outcome.campaign_id === 0 ? {} : { campaign_id: outcome.campaign_id }),
        },
      },
    },
  };
}

import type { Channel, ChannelChange } from '../../events/channels/channel-change.ts';
import type { ConsentState } from '../../events/channels/chosen-consents.ts';
import type { TrackedMessage } from '../../events/channels/tracking-token.ts';
import type { Principal } from '../../ingest/account.ts';
import { withDeadline } from '../../platform/deadline.ts';

/** What one message was: to whom, by which channel, and what that person may receive. */
export interface Recipient {
  /** Empty when the person is known by an anonymous id only. */
  userId: string;
  channel: Channel;
  /** The address that the message was sent to. */
  address: string;
  /** 0: of no campaign. */
  campaignId: number;
  messageId: string;
  accountName: string;
  /** The channels of the account, in the order in which they are shown. */
  consents: ReadonlyMap<Channel, ConsentState>;
}

/** Undefined: no message has this ref. Rejects when nothing can be read. */
export type RecipientOf = (message: TrackedMessage) => Promise<Recipient | undefined>;

/** False when the change is not durable; see ingest/command-writer.ts. */
export type RecordChange = (
  change: ChannelChange,
  facts: { principal: Principal; source: string; receivedAt: number; trace: string },
) => Promise<boolean>;

/** Longest wait of a person for the store, ms. */
const LOOKUP_DEADLINE = { ms: 2000, waitingFor: 'the recipient of a message' };

/** Looks recipients up within a deadline. */
export async function findRecipient(
  recipientOf: RecipientOf,
  message: TrackedMessage,
  onUnreachable: (error: unknown) => void,
): Promise<Recipient | 'unknown' | 'unreachable'> {
  try {
    return (await withDeadline(LOOKUP_DEADLINE, recipientOf(message))) ?? 'unknown';
  } catch (error) {
    onUnreachable(error);
    return 'unreachable';
  }
}

/** A change belongs to the account: it came with no app and no write key. */
export function accountPrincipal(accountId: number): Principal {
  return { accountId, appId: 0, writeKeyId: 0 };
}

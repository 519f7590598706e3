import type { Channel } from '../../events/channels/channel-change.ts';
import { escapeText } from '../postgres/escaped-text.ts';
import type { Database } from '../postgres/pool.ts';

/** To whom a message goes: what its tokens name (events/channels/tracking-token.ts). */
export interface MessageRecipient {
  accountId: number;
  /** 12 random bytes, unique in the account. */
  ref: Buffer;
  /** A distinct id of the person: consents are recorded under it. */
  userId: string;
  channel: Channel;
  /** 0: of no campaign. */
  campaignId: number;
  messageId: string;
  /** An e-mail address in lower case, or what else the channel sends to. */
  address: string;
  /** Of the event message_opened: empty and 0 are left out. */
  category: string;
  templateId: number;
  variantId: string;
}

/**
 * Adds recipients in one statement; one that is stored already stays as it is. A row is written
 * before its message is handed to a provider, so that each token that leaves is known.
 */
export async function addMessageRecipients(
  database: Pick<Database, 'query'>,
  recipients: readonly MessageRecipient[],
): Promise<void> {
  await database.query(
    `INSERT INTO message_recipients (account_id, ref, user_id, channel, campaign_id, message_id, address, category, template_id, variant_id)
     SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[])
     ON CONFLICT (account_id, ref) DO NOTHING`,
    [
      recipients.map(({ accountId }) => accountId),
      recipients.map(({ ref }) => ref),
      recipients.map(({ userId }) => escapeText(userId)),
      recipients.map(({ channel }) => channel),
      recipients.map(({ campaignId }) => campaignId),
      recipients.map(({ messageId }) => escapeText(messageId)),
      recipients.map(({ address }) => escapeText(address)),
      recipients.map(({ category }) => category),
      recipients.map(({ templateId }) => templateId),
      recipients.map(({ variantId }) => escapeText(variantId)),
    ],
  );
}

import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import type { ConsentState } from '../../events/channels/chosen-consents.ts';
import { readAddresses, type PersonChannels } from '../../platform/addresses/read-addresses.ts';
import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { RecipientOf } from './recipients.ts';

interface Row extends Record<'user_id' | 'channel' | 'message_id' | 'address', string> {
  campaign_id: string;
  account_name: string;
}

const RECIPIENT = `SELECT r.user_id, r.channel, r.campaign_id::text, r.message_id, r.address, a.name AS account_name
  FROM message_recipients r JOIN accounts a ON a.id = r.account_id
  WHERE r.account_id = $1 AND r.ref = $2`;

/** Recipients in PostgreSQL; rejects when it does not answer. */
export function connectRecipientStore(database: Pick<Database, 'query'>): RecipientOf {
  return async ({ accountId, ref }) => {
    const { rows } = await database.query<Row>(RECIPIENT, [accountId, ref]);
    const [row] = rows;
    const channel = CHANNELS.find((one) => one === row?.channel);
    if (!row || !channel) return undefined;
    const userId = unescapeText(row.user_id);
    const person = await readAddresses(database, { accountId, userId });
    return {
      ...{ userId, channel, address: unescapeText(row.address) },
      ...{ campaignId: Number(row.campaign_id), messageId: unescapeText(row.message_id) },
      ...{ accountName: row.account_name, consents: consentsOf(channel, person) },
    };
  };
}

/**
 * The channels that the person knows from this account: that of the message, those of active
 * addresses, and those about which the person has decided. Without a decision it is subscribed.
 */
function consentsOf(
  channel: Channel,
  { addresses, consents }: PersonChannels,
): Map<Channel, ConsentState> {
  const reachable = addresses.filter(({ active }) => active).map((address) => address.channel);
  const known = new Set([channel, ...reachable, ...Object.keys(consents)]);
  return new Map(
    CHANNELS.filter((one) => known.has(one)).map((one) => [
      one,
      consents[one] === 'unsubscribed' ? 'unsubscribed' : 'subscribed',
    ]),
  );
}

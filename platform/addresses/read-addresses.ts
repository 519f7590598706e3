import { escapeText, unescapeText } from '../postgres/escaped-text.ts';
import type { Database } from '../postgres/pool.ts';

/** By what a person can be reached, or must not be. */
export interface PersonAddress {
  channel: string;
  kind: 'device' | 'browser' | 'chat' | 'address';
  /** Device id, endpoint, chat id, or an e-mail address or phone number that is suppressed. */
  id: string;
  /** Of a device: fcm, apns or hms; empty otherwise. */
  provider: string;
  active: boolean;
  /** Why it is not active; empty while it is. */
  reason: string;
  /** Of the last registration, or of the suppression; ms since the epoch. */
  updatedAt: number;
}

/** What is known of a person under all their names. */
export interface PersonChannels {
  addresses: PersonAddress[];
  /** `subscribed` or `unsubscribed`, by channel: the last change under any of the names. */
  consents: Record<string, string>;
}

interface Row {
  what: 'address' | 'suppression' | 'consent';
  channel: string;
  id: string;
  provider: string | null;
  reason: string;
  received_at: string;
}

const NAMES = `SELECT $2::text AS name UNION SELECT n.name FROM identity_names n
  WHERE n.account_id = $1 AND n.canonical = (SELECT canonical FROM identity_names WHERE account_id = $1 AND name = $2::text)`;

const CHANNELS = 'SELECT * FROM person_channels($1, $2)';

/** Every distinct id of the person of a user, the user's own among them. */
export async function namesOf(
  database: Pick<Database, 'query'>,
  { accountId, userId }: { accountId: number; userId: string },
): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(NAMES, [accountId, escapeText(userId)]);
  return rows.map(({ name }) => unescapeText(name));
}

/**
 * The channels of a person, in one statement; empty for somebody who is not known. Rejects when
 * PostgreSQL does not answer.
 */
export async function readAddresses(
  database: Pick<Database, 'query'>,
  { accountId, userId }: { accountId: number; userId: string },
): Promise<PersonChannels> {
  const { rows } = await database.query<Row>(CHANNELS, [accountId, escapeText(userId)]);
  const consents = rows.filter(({ what }) => what === 'consent');
  return {
    addresses: rows
      .filter(({ what }) => what !== 'consent')
      .map(({ what, channel, id, provider, reason, received_at }) => ({
        ...{ channel, kind: what === 'suppression' ? 'address' : kindOf(channel) },
        ...{ id: unescapeText(id), provider: provider ?? '' },
        ...{ active: reason === '' && what === 'address', reason },
        updatedAt: Number(received_at),
      })),
    consents: Object.fromEntries(consents.map(({ channel, id }) => [channel, id])),
  };
}

function kindOf(channel: string): PersonAddress['kind'] {
  if (channel === 'push') return 'device';
  return channel === 'web' ? 'browser' : 'chat';
}

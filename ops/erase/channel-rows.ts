import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';

type Queries = Pick<Database, 'query'>;

/** The commands of a person up to an erasure. */
export interface ChannelPerson {
  accountId: number;
  names: readonly string[];
  /** When the erasure was requested, ms since the epoch: what is later is of a new person. */
  at: number;
}

export interface ChannelAddress {
  channel: string;
  /** Device id, endpoint, chat id, e-mail address or phone number. */
  address: string;
}

const OWN = `(t.user_id = ANY($2::text[]) OR (t.user_id = '' AND t.anonymous_id = ANY($2::text[])))`;
const REACHED = `SELECT channel, address FROM channel_suppressions WHERE account_id = $1 AND user_id = ANY($2::text[]) AND received_at <= $3::float8
  UNION SELECT channel, address FROM soft_bounces WHERE account_id = $1 AND user_id = ANY($2::text[]) AND received_at <= $3::float8
  UNION SELECT channel, address FROM message_recipients WHERE account_id = $1 AND user_id = ANY($2::text[]) AND created_at <= to_timestamp($3::float8 / 1000)`;
const OF_OTHERS = ['message_recipients', 'channel_suppressions', 'soft_bounces']
  .map(
    (table) =>
      `SELECT 1 FROM ${table} o WHERE o.account_id = $1 AND o.channel = r.channel AND o.address = r.address AND o.user_id <> '' AND o.user_id <> ALL($2::text[])`,
  )
  .join(' UNION ALL ');
const ADDRESSES = `SELECT t.channel, t.address_id AS address FROM channel_addresses t WHERE t.account_id = $1 AND ${OWN} AND t.received_at <= $3::float8
  UNION SELECT r.channel, r.address FROM (${REACHED}) r WHERE r.address <> '' AND NOT EXISTS (${OF_OTHERS})`;

function parameters({ accountId, names, at }: ChannelPerson): unknown[] {
  return [accountId, names.map(escapeText), at];
}

/**
 * What only the person can be reached by, as far as PostgreSQL knows: devices, browsers and chats
 * that they registered last, and addresses that messages to nobody else went to.
 */
export async function addressesOf(
  database: Queries,
  person: ChannelPerson,
): Promise<ChannelAddress[]> {
  const { rows } = await database.query<ChannelAddress>(ADDRESSES, parameters(person));
  return rows.map(({ channel, address }) => ({ channel, address: unescapeText(address) }));
}

const THEIRS = '(channel, address) IN (SELECT channel, address FROM own)';
const REMOVE = `WITH own AS (
    SELECT * FROM unnest($4::text[], $5::text[]) AS own (channel, address)
  ), addresses AS (
    DELETE FROM channel_addresses t WHERE t.account_id = $1 AND ${OWN} AND t.received_at <= $3::float8 RETURNING 1
  ), ends AS (
    DELETE FROM channel_ends WHERE account_id = $1 AND received_at <= $3::float8
      AND (user_id = ANY($2::text[]) OR (channel, address_id) IN (SELECT channel, address FROM own)) RETURNING 1
  ), tokens AS (
    DELETE FROM channel_tokens WHERE account_id = $1 AND received_at <= $3::float8
      AND address_id IN (SELECT address FROM own WHERE channel = 'push') RETURNING 1
  ), consents AS (
    DELETE FROM channel_consents WHERE account_id = $1 AND user_id = ANY($2::text[]) AND received_at <= $3::float8 RETURNING 1
  ), chain AS (
    DELETE FROM consent_log l USING (SELECT user_id, max(number) AS number FROM consent_log
      WHERE account_id = $1 AND user_id = ANY($2::text[]) AND received_at <= $3::float8 GROUP BY user_id) AS last
    WHERE l.account_id = $1 AND l.user_id = last.user_id AND l.number <= last.number RETURNING 1
  ), suppressions AS (
    DELETE FROM channel_suppressions WHERE account_id = $1 AND received_at <= $3::float8 AND ${THEIRS} RETURNING 1
  ), bounces AS (
    DELETE FROM soft_bounces WHERE account_id = $1 AND received_at <= $3::float8 AND ${THEIRS} RETURNING 1
  ), shared_suppressions AS (
    UPDATE channel_suppressions SET user_id = '' WHERE account_id = $1 AND user_id = ANY($2::text[]) AND received_at <= $3::float8 AND NOT ${THEIRS}
  ), shared_bounces AS (
    UPDATE soft_bounces SET user_id = '' WHERE account_id = $1 AND user_id = ANY($2::text[]) AND received_at <= $3::float8 AND NOT ${THEIRS}
  ), announced AS (
    DELETE FROM announced_opt_outs WHERE account_id = $1 AND user_id = ANY($2::text[]) AND received_at <= $3::float8
  ), recipients AS (
    DELETE FROM message_recipients WHERE account_id = $1 AND user_id = ANY($2::text[]) AND created_at <= to_timestamp($3::float8 / 1000) RETURNING 1
  )
  SELECT (SELECT count(*) FROM addresses)::int AS addresses, (SELECT count(*) FROM chain)::int AS consents,
    (SELECT count(*) FROM suppressions)::int AS suppressions, (SELECT count(*) FROM recipients)::int AS recipients`;

export interface RemovedChannels {
  addresses: number;
  /** Entries of the log of consents. */
  consents: number;
  suppressions: number;
  recipients: number;
}

/**
 * Removes the person from the tables of channels, in one statement. A suppression of an address
 * that others have, too, stays, and names nobody. The chains of consents lose their beginning,
 * never something in between: what is left can be checked.
 * @param own what only the person has
 */
export async function removeChannels(
  database: Queries,
  person: ChannelPerson,
  own: readonly ChannelAddress[],
): Promise<RemovedChannels> {
  const { rows } = await database.query<RemovedChannels>(REMOVE, [
    ...parameters(person),
    own.map(({ channel }) => channel),
    own.map(({ address }) => escapeText(address)),
  ]);
  return rows[0] ?? { addresses: 0, consents: 0, suppressions: 0, recipients: 0 };
}

const HOLDERS = `INSERT INTO channel_tokens (account_id, token_hash, address_id, received_at, gateway, sequence, log_epoch, log_partition, log_offset)
  SELECT DISTINCT ON (token_hash) account_id, token_hash, address_id, received_at, gateway, sequence, log_epoch, log_partition, log_offset
  FROM channel_addresses a WHERE a.account_id = $1 AND a.token_hash IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM channel_tokens t WHERE t.account_id = a.account_id AND t.token_hash = a.token_hash)
  ORDER BY token_hash, received_at DESC, gateway COLLATE "C" DESC, sequence DESC
  ON CONFLICT DO NOTHING RETURNING token_hash`;

/** A token that the person's device held belongs to the last other device that registered it. */
export async function restoreHolders(database: Queries, accountId: number): Promise<Buffer[]> {
  const { rows } = await database.query<{ token_hash: Buffer }>(HOLDERS, [accountId]);
  return rows.map(({ token_hash }) => token_hash);
}

const LEFT = `SELECT t.channel, t.address_id AS address FROM channel_addresses t WHERE t.account_id = $1 AND ${OWN}`;

/** What was registered under the names after the erasure. */
export async function laterAddresses(
  database: Queries,
  { accountId, names }: Pick<ChannelPerson, 'accountId' | 'names'>,
): Promise<ChannelAddress[]> {
  const { rows } = await database.query<ChannelAddress>(LEFT, [accountId, names.map(escapeText)]);
  return rows.map(({ channel, address }) => ({ channel, address: unescapeText(address) }));
}

-- By what people can be reached (projections/addresses). Texts from clients: a backslash is doubled, and NUL is \0. Every row is a register: of two commands about it, the one with the later (received_at, gateway, sequence) counts, in whatever order they are read. (log_epoch, log_partition, log_offset) is where that command was read: a comparison with the log knows which rows moved on meanwhile.

-- The last registration of a device, a subscription of a browser or a chat.
CREATE TABLE channel_addresses (
  account_id bigint NOT NULL,
  -- push, web, bale, eitaa or rubika
  channel text NOT NULL,
  -- device id, endpoint or chat id
  address_id text NOT NULL,
  app_id bigint NOT NULL,
  user_id text NOT NULL,
  anonymous_id text NOT NULL,
  -- of a device: SHA-256 of its push token
  token_hash bytea,
  -- of a device: {platform, push_token, push_provider, …}; of a browser: {p256dh, auth}; null of a chat
  details jsonb,
  received_at bigint NOT NULL,
  gateway text NOT NULL,
  sequence bigint NOT NULL,
  log_epoch integer NOT NULL DEFAULT 0,
  log_partition integer NOT NULL DEFAULT 0,
  log_offset bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, channel, address_id)
);
CREATE INDEX channel_addresses_user ON channel_addresses (account_id, user_id) WHERE user_id <> '';
CREATE INDEX channel_addresses_anonymous ON channel_addresses (account_id, anonymous_id) WHERE anonymous_id <> '';
CREATE INDEX channel_addresses_token ON channel_addresses (account_id, token_hash) WHERE token_hash IS NOT NULL;

-- What ended an address: an earlier registration of it is not active.
CREATE TABLE channel_ends (
  account_id bigint NOT NULL,
  channel text NOT NULL,
  -- of an unlinked chat: the user whose it was; empty otherwise
  user_id text NOT NULL,
  -- empty: all chats of the user
  address_id text NOT NULL,
  reason text NOT NULL,
  received_at bigint NOT NULL,
  gateway text NOT NULL,
  sequence bigint NOT NULL,
  log_epoch integer NOT NULL DEFAULT 0,
  log_partition integer NOT NULL DEFAULT 0,
  log_offset bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, channel, user_id, address_id)
);

-- The device that registered a push token last: another one with it is not active.
CREATE TABLE channel_tokens (
  account_id bigint NOT NULL,
  token_hash bytea NOT NULL,
  address_id text NOT NULL,
  received_at bigint NOT NULL,
  gateway text NOT NULL,
  sequence bigint NOT NULL,
  log_epoch integer NOT NULL DEFAULT 0,
  log_partition integer NOT NULL DEFAULT 0,
  log_offset bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, token_hash)
);

-- Whether people want a channel. Every change is in consent_log, too.
CREATE TABLE channel_consents (
  account_id bigint NOT NULL,
  user_id text NOT NULL,
  channel text NOT NULL,
  state text NOT NULL CHECK (state IN ('subscribed', 'unsubscribed')),
  received_at bigint NOT NULL,
  gateway text NOT NULL,
  sequence bigint NOT NULL,
  log_epoch integer NOT NULL DEFAULT 0,
  log_partition integer NOT NULL DEFAULT 0,
  log_offset bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, user_id, channel)
);

-- The changes of a user's consents in the order of channel.commands. hash = SHA-256 of the entry before and of this one (events/channels/consent-chain.ts).
CREATE TABLE consent_log (
  account_id bigint NOT NULL,
  user_id text NOT NULL,
  number integer NOT NULL,
  channel text NOT NULL,
  state text NOT NULL,
  source text NOT NULL,
  text_version text NOT NULL,
  ip text NOT NULL,
  user_agent text NOT NULL,
  received_at bigint NOT NULL,
  gateway text NOT NULL,
  sequence bigint NOT NULL,
  log_epoch integer NOT NULL DEFAULT 0,
  log_partition integer NOT NULL DEFAULT 0,
  log_offset bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL,
  PRIMARY KEY (account_id, user_id, number)
);

-- Addresses to which nothing is sent: they bounced, or their owners complained.
CREATE TABLE channel_suppressions (
  account_id bigint NOT NULL,
  -- email or sms
  channel text NOT NULL,
  address text NOT NULL,
  suppressed boolean NOT NULL,
  reason text NOT NULL,
  user_id text NOT NULL,
  received_at bigint NOT NULL,
  gateway text NOT NULL,
  sequence bigint NOT NULL,
  log_epoch integer NOT NULL DEFAULT 0,
  log_partition integer NOT NULL DEFAULT 0,
  log_offset bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, channel, address)
);
CREATE INDEX channel_suppressions_user ON channel_suppressions (account_id, user_id) WHERE user_id <> '';

-- Soft bounces: each message counts once, and five within 14 days suppress the address.
CREATE TABLE soft_bounces (
  account_id bigint NOT NULL,
  channel text NOT NULL,
  address text NOT NULL,
  message_ref bytea NOT NULL,
  user_id text NOT NULL,
  received_at bigint NOT NULL,
  log_epoch integer NOT NULL DEFAULT 0,
  log_partition integer NOT NULL DEFAULT 0,
  log_offset bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, channel, address, message_ref)
);

-- Up to where each partition of channel.commands is in these tables: everything before next_offset in the epoch, and what the partition had before the epoch began (platform/log/epochs.ts).
CREATE TABLE channel_positions (
  partition integer PRIMARY KEY,
  epoch integer NOT NULL,
  next_offset bigint NOT NULL
);

-- By partition, account and gateway process: what the gateway counted up to its last command that was read, and what was applied. `written` less `refused` were answered 200; what was not applied of them is missing in the log.
CREATE TABLE channel_books (
  partition integer NOT NULL,
  account_id bigint NOT NULL,
  gateway text NOT NULL,
  written bigint NOT NULL,
  refused bigint NOT NULL,
  applied bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (partition, account_id, gateway)
);
CREATE INDEX channel_books_updated ON channel_books (updated_at);

-- Versions of the rows in ClickHouse's addresses.
CREATE SEQUENCE channel_versions;

-- The addresses with whether they are active, and why not.
CREATE VIEW channel_address_states AS
SELECT a.*,
  coalesce(ended.reason, CASE WHEN a.token_hash IS NOT NULL AND t.address_id IS DISTINCT FROM a.address_id THEN 'token_moved' END, '') AS reason
FROM channel_addresses a
LEFT JOIN channel_tokens t ON t.account_id = a.account_id AND t.token_hash = a.token_hash
LEFT JOIN LATERAL (
  SELECT e.reason FROM channel_ends e
  WHERE e.account_id = a.account_id AND e.channel = a.channel
    AND ((e.user_id = '' AND e.address_id = a.address_id) OR (a.user_id <> '' AND e.user_id = a.user_id AND e.address_id IN ('', a.address_id)))
    AND (e.received_at, e.gateway COLLATE "C", e.sequence) > (a.received_at, a.gateway COLLATE "C", a.sequence)
  ORDER BY e.received_at DESC, e.gateway COLLATE "C" DESC, e.sequence DESC LIMIT 1
) ended ON true;

-- One outcome of each message (docs/message-stats.md, The table of outcomes). A record that is read again replaces its row. Nothing writes a row again, so each insert is synced; expired rows go with their whole part (0022), and readers leave out older ones (platform/clickhouse/kept-messages.ts).
CREATE TABLE IF NOT EXISTS messages (
  account_id UInt64,
  message_id String,
  campaign_id UInt64,
  run_id UInt64,
  template_id UInt64,
  template_version UInt32,
  channel LowCardinality(String),
  category LowCardinality(String),
  -- the canonical person when the audience was frozen, or when a transactional message was sent
  person_id String,
  user_id String,
  -- hexadecimal, of the address that was used; empty: none
  address_hash String,
  status LowCardinality(String),
  reason LowCardinality(String),
  provider LowCardinality(String),
  provider_message_id String,
  planned_at DateTime64(3, 'UTC'),
  finished_at DateTime64(3, 'UTC'),
  attempts UInt16,
  -- of the position in messages.outcomes (projections/messages/version.ts): a later record wins
  version UInt64,
  -- as in events: whose message it is
  _person UInt64 MATERIALIZED sipHash64(person_id),
  INDEX message_ids message_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(planned_at)
ORDER BY (account_id, campaign_id, run_id, message_id)
TTL toDateTime(planned_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, fsync_part_directory = 1;

-- Audiences as runs found them (pipeline/planner). Rows of an attempt that its run does not name (campaign_runs.freeze_attempt) are of a freeze that did not end.
CREATE TABLE IF NOT EXISTS campaign_recipients (
  account_id UInt64,
  run_id UInt64,
  attempt UInt32,
  -- hexadecimal: the order of the chunks
  key String,
  -- empty: erased; the row and its key stay until the run has ended
  person_id String,
  user_id String,
  is_control Bool,
  frozen_at DateTime64(3, 'UTC')
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(frozen_at)
ORDER BY (account_id, run_id, attempt, key)
TTL toDateTime(frozen_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, fsync_part_directory = 1;

-- Opens by a person of messages that a mail proxy or a bot had opened first: the event of the first open is flagged as bot traffic, and there is no second one (ingest-gateway/opens). Copied from message_recipients by messages-sink.
CREATE TABLE IF NOT EXISTS message_opens (
  account_id UInt64,
  campaign_id UInt64,
  message_id String,
  -- a distinct id of the recipient
  user_id String,
  opened_by_person_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(opened_by_person_at)
ORDER BY (account_id, campaign_id, message_id)
TTL toDateTime(opened_by_person_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, fsync_part_directory = 1;

-- The addresses of channels for audiences. A row with a later version replaces the earlier one.
CREATE TABLE IF NOT EXISTS addresses (
  account_id UInt64,
  channel LowCardinality(String),
  address_id String,
  -- user_id, or else anonymous_id, of the last registration
  name String,
  active Bool,
  version UInt64,
  _person UInt64 MATERIALIZED sipHash64(name)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account_id, channel, address_id);

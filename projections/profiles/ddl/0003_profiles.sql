-- The folded state of each name (user_id, or else anonymous_id): projections/profiles/FOLD.md. The state that has folded more events replaces the others.
CREATE TABLE IF NOT EXISTS profiles (
  account_id UInt64,
  name String,
  -- the name again when some event carried it as its user_id; the anonymous_id seen last beside it
  user_id String,
  anonymous_id String,
  -- place of the last event folded in: what lies at or below it is skipped
  _epoch UInt16,
  _partition UInt16,
  _offset UInt64,
  _index UInt32,
  event_count UInt64,
  first_seen DateTime64(3, 'UTC'),
  last_seen DateTime64(3, 'UTC'),
  total_revenue Decimal(38, 3),
  order_count UInt64,
  last_order_at Nullable(DateTime64(3, 'UTC')),
  email String,
  phone String,
  first_name String,
  last_name String,
  gender String,
  birthday String,
  national_id String,
  city String,
  region String,
  country String,
  language String,
  timezone String,
  push_opt_in String,
  email_opt_in String,
  sms_opt_in String,
  traits Map(String, String),
  trait_numbers Map(String, Float64),
  -- when each trait and column was written, as one number that orders writes: received_at, epoch, partition, offset, index (events/write-order.ts)
  _stamps Map(String, UInt128),
  -- as in events: people lie on one shard with their events
  _person UInt64 MATERIALIZED sipHash64(name)
)
ENGINE = ReplacingMergeTree(event_count)
ORDER BY (account_id, name)
SETTINGS index_granularity = 128, min_compress_block_size = 16384, max_compress_block_size = 65536;

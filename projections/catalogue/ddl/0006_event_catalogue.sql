-- What events an account sends (management 2.4, GET /v1/schema/events): counts by day in Tehran, one row a chunk of the raw log (projections/catalogue/count.ts).
-- A row that is written again after a restart or by another worker replaces itself, so that sums with FINAL are exact.
CREATE TABLE IF NOT EXISTS event_catalogue (
  account_id UInt64,
  day Date,
  event LowCardinality(String),
  _epoch UInt16,
  _partition UInt16,
  chunk UInt64,
  count UInt64,
  prop_keys Array(LowCardinality(String)),
  last_seen DateTime64(3, 'UTC'),
  -- events of the chunk that were counted when the row was written
  version UInt64,
  -- offset in events.normalised where the chunk begins
  chunk_from UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account_id, day, event, _epoch, _partition, chunk)
TTL day + INTERVAL 100 DAY DELETE;

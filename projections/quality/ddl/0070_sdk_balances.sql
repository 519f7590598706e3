-- The newest balance of each client of an SDK: what became of its calls since it was installed (context.library.balance of a batch). A client that changes its version keeps its counts, and has a row of each.
CREATE TABLE IF NOT EXISTS sdk_balances (
  account_id UInt64,
  app_id UInt64,
  library LowCardinality(String),
  version LowCardinality(String),
  client String,
  received_at DateTime64(3, 'UTC'),
  made UInt64,
  stored UInt64,
  sent UInt64,
  dropped Map(LowCardinality(String), UInt64),
  -- events of the request: made, and not yet counted as sent
  in_request UInt32
)
ENGINE = ReplacingMergeTree(received_at)
ORDER BY (account_id, app_id, library, version, client)
TTL toDateTime(received_at) + INTERVAL 30 DAY DELETE;

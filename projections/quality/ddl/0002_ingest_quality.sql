-- Rejects and warnings of the gateway (ingest 2.6, management 2.5): one row an outcome and what it counted. The same outcome inserted again replaces itself,
-- so that a count with FINAL is exact however often a record is read. A day is a day in Tehran.
CREATE TABLE IF NOT EXISTS ingest_quality (
  account_id UInt64,
  day Date,
  kind LowCardinality(String),
  code LowCardinality(String),
  field String,
  sdk LowCardinality(String),
  app_id UInt64,
  gateway LowCardinality(String),
  sequence UInt64,
  count UInt32
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (account_id, day, kind, code, field, sdk, app_id, gateway, sequence)
TTL day + INTERVAL 400 DAY DELETE;

-- Whose a name is, for names that were ever joined by an alias, the person's own name among them (projections/identities/IDENTITIES.md). Nobody else has a row.
-- After an undo a name stands under itself again.
CREATE TABLE IF NOT EXISTS identities_flat (
  account_id UInt64,
  name String,
  canonical String,
  -- revision of the account's identities that the row belongs to
  version UInt64,
  _person UInt64 MATERIALIZED sipHash64(name)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account_id, name)
SETTINGS index_granularity = 1024;

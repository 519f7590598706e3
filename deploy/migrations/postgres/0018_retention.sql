-- Account retention (projections/retention): one row a day in Tehran that was enforced.
CREATE TABLE retention_runs (
  day date PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  rows_deleted bigint NOT NULL DEFAULT 0
);

-- A deletion that is under way: written before it, gone when the books have it. `counts` holds [minute of reception in s, rows].
CREATE TABLE retention_steps (
  account_id bigint NOT NULL,
  -- rows of this day (UTC) with a timestamp below `below` that were received before `received_before`
  day date NOT NULL,
  below timestamptz NOT NULL,
  received_before timestamptz NOT NULL,
  counts jsonb NOT NULL,
  PRIMARY KEY (account_id, day)
);

-- A replay leaves events that have a dead letter to `./ravand dlq redrive` (docs/replay.md): it looks them up by the record that failed.
CREATE INDEX dead_letters_by_record ON dead_letters (topic, partition, record_offset);

-- What retention has deleted and booked: the rows of the account with a timestamp before `below` that were received before `received_before`. A rebuild leaves them out (docs/replay.md). Lower limits stay only while a later one does not cover them.
CREATE TABLE retention_limits (
  account_id bigint NOT NULL,
  below timestamptz NOT NULL,
  received_before timestamptz NOT NULL,
  closed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, below)
);

-- The comparison of profiles with events (`./ravand profiles check`): one row per account and day in Tehran; whoever inserts it runs it.
CREATE TABLE profile_checks (
  account_id bigint NOT NULL,
  day date NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  compared bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, day)
);

-- Distinct ids whose profile was found to differ, until a later comparison finds it equal. Names as in alias_facts.
CREATE TABLE profile_differences (
  account_id bigint NOT NULL,
  name text NOT NULL,
  -- events in the profile, and events of the distinct id in ClickHouse
  folded bigint NOT NULL,
  stored bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('profile_lacks', 'events_lack')),
  found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, name)
);

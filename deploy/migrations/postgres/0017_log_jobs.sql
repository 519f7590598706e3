-- Replays and rebuilds (docs/replay.md): what was asked for, how far it is, and what is being written, so that the same command continues after any end.
CREATE TABLE log_jobs (
  id bigserial PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('replay', 'rebuild')),
  -- what was asked for, in one spelling
  command text NOT NULL,
  -- the table that it writes
  target text NOT NULL,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished', 'cancelled')),
  -- rises with each process that takes the job over; a write under an older one is refused
  owner_epoch bigint NOT NULL DEFAULT 1,
  -- the ranges of the log, as they were resolved when the job began
  plan jsonb NOT NULL,
  -- how far each partition is
  positions jsonb NOT NULL DEFAULT '{}',
  -- the range that is being written or was written last, with what must follow from it; null: none is open
  recorded jsonb,
  counts jsonb NOT NULL DEFAULT '{}',
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- also the sign of life of the process that works on it
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz
);
-- One job at a time writes a table.
CREATE UNIQUE INDEX log_jobs_running ON log_jobs (target) WHERE state = 'running';

-- Names whose profile lacks an event that a replay adds: folded anew when its rows are stored. Names as in alias_facts (a backslash is doubled, NUL is \0).
CREATE TABLE replay_names (
  job_id bigint NOT NULL REFERENCES log_jobs,
  account_id bigint NOT NULL,
  name text NOT NULL,
  partition integer NOT NULL,
  PRIMARY KEY (job_id, account_id, name)
);

-- Profiles that were folded anew from the log, for the owner of the partition to take over (projections/profiles/FOLD.md). A row is gone when that is certain to last.
CREATE TABLE profile_refolds (
  account_id bigint NOT NULL,
  name text NOT NULL,
  partition integer NOT NULL,
  -- a later request for the same name takes the place of an earlier one
  request bigserial,
  -- one row of `profiles` in RowBinary: the fold of every event of the name up to its last place
  profile bytea NOT NULL,
  -- every event of the name behind that fold lies at or behind this offset of events.normalised
  from_offset bigint NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- when the owner wrote it
  applied_at timestamptz,
  PRIMARY KEY (account_id, name)
);
CREATE INDEX profile_refolds_by_partition ON profile_refolds (partition);

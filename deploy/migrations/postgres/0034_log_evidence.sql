-- The last record that a reader of a partition has processed or is about to process (next_offset - 1),
-- written before its effects: a log that goes back holds another record there, or none
-- (platform/log/evidence.ts). A writer of a topic records the last record that it appended.
CREATE TABLE log_evidence (
  reader text NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL,
  next_offset bigint NOT NULL,
  -- log append time, ms since the epoch; -1: unknown
  appended_at bigint NOT NULL,
  -- CRC-32 of the value
  checksum bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (reader, topic, partition)
);

-- What `./ravand log advance-epoch` decided, so that the same command continues after any end.
CREATE TABLE log_advances (
  id bigserial PRIMARY KEY,
  plan jsonb NOT NULL,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished')),
  -- when a reader first found that the log had gone back
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  -- when metering added what was lost to the books
  booked_at timestamptz
);
CREATE UNIQUE INDEX log_advances_running ON log_advances (state) WHERE state = 'running';

-- Events that were published, are gone from the log and were never stored; negative: stored, but
-- gone from the log before they were counted as published.
CREATE TABLE book_losses (
  account_id bigint NOT NULL,
  -- start of the minute of reception, or of the day when its minutes are folded
  minute timestamptz NOT NULL,
  lost bigint NOT NULL,
  PRIMARY KEY (account_id, minute)
);

-- The epoch of the topic's partition in which the range was recorded, and the place up to which rows
-- may be stored by a range of an earlier epoch: they are read back before they are inserted.
ALTER TABLE sink_ranges
  ADD COLUMN log_epoch integer NOT NULL DEFAULT 0,
  ADD COLUMN unsure_epoch integer NOT NULL DEFAULT -1,
  ADD COLUMN unsure_offset bigint NOT NULL DEFAULT -1,
  ADD COLUMN unsure_index integer NOT NULL DEFAULT -1;

-- One row a partition that a ClickHouse sink reads: who owns it, and the range that it is inserting or inserted last (projections/events/EXACTLY-ONCE.md).
CREATE TABLE sink_ranges (
  sink text NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL,
  -- rises with each owner; a write under an older epoch is refused
  owner_epoch bigint NOT NULL DEFAULT 0,
  owner text NOT NULL DEFAULT '',
  -- offsets of the range in the topic, both included; null before the first one
  first_offset bigint,
  last_offset bigint,
  -- place of the last row taken before the range, and at its end: what decides which rows of the records belong to it
  before_epoch integer NOT NULL DEFAULT -1,
  before_offset bigint NOT NULL DEFAULT -1,
  before_index integer NOT NULL DEFAULT -1,
  end_epoch integer NOT NULL DEFAULT -1,
  end_offset bigint NOT NULL DEFAULT -1,
  end_index integer NOT NULL DEFAULT -1,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (sink, topic, partition)
);

-- How far a reader of a log got, moved in the same statement as what it counted.
CREATE TABLE log_positions (
  reader text NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL,
  next_offset bigint NOT NULL,
  -- what the reader must remember to skip what it has taken already
  state jsonb NOT NULL DEFAULT '{}',
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (reader, topic, partition)
);

-- The books (promise 6): counts of events per account and minute of their reception.
CREATE TABLE books (
  account_id bigint NOT NULL,
  minute timestamptz NOT NULL,
  -- items in events.raw, each place
  places bigint NOT NULL DEFAULT 0,
  -- of these: the same acceptance published again; another acceptance of a held key; sent to events.dead; older than what is kept
  repeats bigint NOT NULL DEFAULT 0,
  duplicates_after bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0,
  expired bigint NOT NULL DEFAULT 0,
  -- decided by the gateway
  duplicates_before bigint NOT NULL DEFAULT 0,
  rejected bigint NOT NULL DEFAULT 0,
  -- rows found in ClickHouse when the minute was last compared
  stored bigint NOT NULL DEFAULT 0,
  -- something was counted since the last comparison that balanced
  open boolean NOT NULL DEFAULT true,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, minute)
);
CREATE INDEX books_open ON books (changed_at) WHERE open;

-- Meters of a Jalali month in Tehran (ingest 8).
CREATE TABLE meters (
  account_id bigint NOT NULL,
  meter text NOT NULL CHECK (meter IN ('events', 'profiles')),
  -- Jalali month as YYYY-MM
  month text NOT NULL,
  value bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, meter, month)
);

-- Announcements at 80, 100, 125, 150 and 300 per cent of the included allowance: once per meter and month.
CREATE TABLE announcements (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL,
  meter text NOT NULL,
  month text NOT NULL,
  percent integer NOT NULL,
  value bigint NOT NULL,
  allowance bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (account_id, meter, month, percent)
);

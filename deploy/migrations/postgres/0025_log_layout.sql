-- The recorded layout of the log, one row (platform/log/layout.ts): the number of partitions that decides the partition of a person, and the physical names of topics. What Kafka has beyond it is not used.
CREATE TABLE log_layout (
  id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  -- rises when a change takes effect: another number of partitions, another physical topic
  generation integer NOT NULL DEFAULT 1,
  -- partitions in use of events.raw, events.normalised, events.verdicts and ingest.outcomes
  partitions integer NOT NULL CHECK (partitions > 0),
  -- partitions that were created on purpose: a higher number in Kafka is an unannounced change
  created integer NOT NULL CHECK (created >= partitions),
  -- of the change in progress; writers of events.raw hold from 'holding' on until 'steady'
  phase text NOT NULL DEFAULT 'steady'
    CHECK (phase IN ('steady', 'preparing', 'holding', 'switching', 'draining')),
  next_partitions integer,
  -- what is in progress, so that the repeated command continues it
  change jsonb,
  -- the physical name of a topic by its logical one; a topic without an entry has the same name
  topics jsonb NOT NULL DEFAULT '{}',
  -- by generation: the number of partitions, and the epoch of events.raw from which it applies
  history jsonb NOT NULL DEFAULT '[]',
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Processes that publish raw records, and what each has acknowledged.
CREATE TABLE gateway_instances (
  instance text PRIMARY KEY,
  service text NOT NULL,
  -- the layout that it follows
  generation integer NOT NULL,
  phase text NOT NULL CHECK (phase IN ('passing', 'draining', 'held', 'settling', 'releasing')),
  -- what it waits for, in one sentence; empty when for nothing
  waits_for text NOT NULL DEFAULT '',
  -- events in its spool
  spooled bigint NOT NULL DEFAULT 0,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What operators decided about dead letters. The letters themselves stay in the topic events.dead; this is the index that `./ravand dlq` keeps of them.
CREATE TABLE dead_letters (
  -- topic/partition/offset/index of what failed, `record` in place of the index for a whole record: written twice after a crash, a letter is one row
  letter text PRIMARY KEY,
  -- where it lies in events.dead
  dead_partition integer NOT NULL,
  dead_offset bigint NOT NULL,
  stage text NOT NULL,
  reason text NOT NULL,
  fingerprint text NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL,
  record_offset bigint NOT NULL,
  -- null: the whole record
  item integer,
  -- accepted events that it holds; 0 when unknown
  events integer NOT NULL,
  account_id bigint,
  message_id text NOT NULL,
  failed_at timestamptz NOT NULL,
  state text NOT NULL DEFAULT 'dead' CHECK (state IN ('dead', 'redriving', 'redriven', 'discarded')),
  -- the redrive under way: who, since when, and the end of the raw partition before it published anything, so that a killed one can be looked up in the log
  attempt text,
  attempt_at timestamptz,
  raw_end bigint,
  -- offset of the new raw record; null: its rows were stored under their old places
  redriven_to bigint,
  -- why it was discarded
  note text,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dead_letters_by_group ON dead_letters (fingerprint, state);
CREATE INDEX dead_letters_by_message ON dead_letters (account_id, message_id);

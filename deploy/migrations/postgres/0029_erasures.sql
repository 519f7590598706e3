-- Erasure of people (docs/erasure.md).

-- Keys under which the names in erasures and in the topic erasure.commands are hashed. The newest one hashes new names; ./ravand erase rotate-key adds one and destroys those that no unverified erasure needs.
CREATE TABLE erasure_keys (
  id serial PRIMARY KEY,
  -- 32 random bytes; null: destroyed
  key bytea CHECK (octet_length(key) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO erasure_keys (key) VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

CREATE TABLE erasures (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL,
  key_id integer NOT NULL REFERENCES erasure_keys,
  -- HMAC-SHA-256 of each distinct id of the person
  name_hashes bytea[] NOT NULL,
  -- the same distinct ids as texts, which the removal needs (a backslash is doubled, NUL is \0); null once a verification of the rewritten log has found nothing
  names text[],
  -- requested: the cut is not known; recorded: readers that repeat the log obey; enforced: everything up to the cut was processed, and every reader obeys; removed: gone from every store but the log; rewritten: gone from the log
  state text NOT NULL DEFAULT 'requested' CHECK (state IN ('requested', 'recorded', 'enforced', 'removed', 'rewritten')),
  -- [{partition, epoch, offset}] of events.raw: events before it are erased
  cuts jsonb,
  -- ends of events.normalised before the cut: what comes after the cut is behind them
  since jsonb,
  -- ends of what is derived from events.raw that the groups must have processed before the cut is enforced; null until the normaliser is past the cut
  barrier jsonb,
  -- rows to remove, as [start of the minute of reception (Unix s), rows], written before the first removal: the books count them once
  counts jsonb,
  -- what was removed, by store
  removed jsonb NOT NULL DEFAULT '{}',
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  verified_at timestamptz
);
CREATE INDEX erasures_unfinished ON erasures (id) WHERE state <> 'rewritten';

-- The rewriting of the log under way: which erasures it removes from a topic. A copy of a topic that was begun is completed for the same ones.
CREATE TABLE erasure_rewrites (
  topic text PRIMARY KEY,
  erasures bigint[] NOT NULL,
  -- waiting: the topic is as it was; switched: the rewritten topic is in use, the former one exists; done: it is removed
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'switched', 'done')),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What operators decided about aliases (projections/identities/IDENTITIES.md). Of two decisions about an alias the later one counts.

-- When the latest undo was requested, ms since the epoch; 0: by a release before this one.
ALTER TABLE alias_undos ADD COLUMN decided_at bigint NOT NULL DEFAULT 0;

-- The latest decision about two ids: whether aliases between them, in either direction, merge nothing.
CREATE TABLE alias_pairs (
  account_id bigint NOT NULL,
  -- the smaller of the two by its UTF-16 units
  name text NOT NULL,
  other text NOT NULL,
  apart boolean NOT NULL,
  -- ms since the epoch
  decided_at bigint NOT NULL,
  PRIMARY KEY (account_id, name, other)
);

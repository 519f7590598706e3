-- Aliases as facts, and whose each name is because of them (projections/identities/IDENTITIES.md). Names are texts in which a backslash is doubled and NUL is \0.

-- Every alias that may join something, in the order in which they are considered.
CREATE TABLE alias_facts (
  account_id bigint NOT NULL,
  previous_id text NOT NULL,
  -- ms since the epoch
  received_at bigint NOT NULL,
  epoch integer NOT NULL,
  partition integer NOT NULL,
  log_offset bigint NOT NULL,
  log_index integer NOT NULL,
  user_id text NOT NULL,
  PRIMARY KEY (account_id, previous_id, received_at, epoch, partition, log_offset, log_index)
);

-- What was taken back: facts of previous_id that were received up to `until` join nothing.
CREATE TABLE alias_undos (
  account_id bigint NOT NULL,
  previous_id text NOT NULL,
  -- ms since the epoch
  until bigint NOT NULL,
  PRIMARY KEY (account_id, previous_id)
);

-- Facts, undos and names of an account change together, and only under the revision that they were read at.
CREATE TABLE identity_accounts (
  account_id bigint PRIMARY KEY,
  revision bigint NOT NULL DEFAULT 0,
  -- rows up to this revision are in ClickHouse
  published bigint NOT NULL DEFAULT 0
);
CREATE INDEX identity_accounts_unpublished ON identity_accounts (account_id) WHERE revision > published;

-- Every name that a fact ever mentioned.
CREATE TABLE identity_names (
  account_id bigint NOT NULL,
  name text NOT NULL,
  canonical text NOT NULL,
  -- the alias that joined the name to another one: its user_id and its place in the order; null while nothing does
  joined_to text,
  received_at bigint,
  epoch integer,
  partition integer,
  log_offset bigint,
  log_index integer,
  -- of the account, when the row changed last
  revision bigint NOT NULL,
  PRIMARY KEY (account_id, name)
);
CREATE INDEX identity_names_canonical ON identity_names (account_id, canonical);
CREATE INDEX identity_names_revision ON identity_names (account_id, revision);

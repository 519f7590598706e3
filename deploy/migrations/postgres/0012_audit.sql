-- What people and operators decided, one line a decision; never a secret and never a person's data.
CREATE TABLE audit_lines (
  id bigserial PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- null: the line is about the installation
  account_id bigint,
  -- who: member:ID, operator
  actor text NOT NULL CHECK (actor <> ''),
  -- past tense, dotted: relay.saved, replay.started
  action text NOT NULL CHECK (action <> ''),
  details jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_lines_by_account ON audit_lines (account_id, id DESC);

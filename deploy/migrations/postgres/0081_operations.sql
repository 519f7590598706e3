-- What members asked for in the panel and the service `operator` carries out with the commands of ./ravand (docs/panel.md, Operations).
CREATE TABLE operations (
  id bigserial PRIMARY KEY,
  -- null: the installation
  account_id bigint REFERENCES accounts,
  -- platform/operations/operation.ts
  kind text NOT NULL CHECK (kind <> ''),
  -- the fields of the kind; empty once an operation about a person has ended, so that nothing of the person is left here
  input json NOT NULL CHECK (octet_length(input::text) <= 8192),
  -- SHA-256 of the input in hexadecimal digits: the same request twice is one operation; zeros once an operation about a person has ended
  subject text NOT NULL CHECK (subject ~ '^[0-9a-f]{64}$'),
  -- takes long: has a queue of its own
  is_long boolean NOT NULL,
  -- changes nothing: not listed
  is_dry boolean NOT NULL,
  -- null: the member has left
  requested_by bigint REFERENCES members ON DELETE SET NULL,
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'stopped')),
  -- somebody asked to stop it
  stop_requested boolean NOT NULL DEFAULT false,
  -- rises with each process that takes it; a write under an older one is refused
  owner_epoch bigint NOT NULL DEFAULT 0,
  -- times that a process took it since it was given back: none of these ended
  attempts int NOT NULL DEFAULT 0,
  -- the last time that a process took it: accounts take turns by it
  taken_at timestamptz,
  -- what it waits for (platform/operations/operation-wait.ts); empty: for nothing
  waits json NOT NULL DEFAULT '[]' CHECK (octet_length(waits::text) <= 16384),
  waits_since timestamptz,
  -- it is queued because it waits: no process takes it before
  look_at timestamptz,
  -- the erasure that it began (erasures.id), which is continued
  erasure_id bigint,
  -- a process works on it until then
  leased_until timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  -- what the command printed, without anything of a person; null: nothing yet
  result json,
  -- why it failed; empty: it did not
  error text NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX operations_open ON operations (coalesce(account_id, 0), kind, subject) WHERE state IN ('queued', 'running');
-- Of two processes that take operations of one account at the same moment, one gets a unique violation.
CREATE UNIQUE INDEX operations_running ON operations (coalesce(account_id, 0), is_long) WHERE state = 'running';
CREATE INDEX operations_by_account ON operations (account_id, id DESC);
CREATE INDEX operations_waiting ON operations (is_long, id) WHERE state IN ('queued', 'running');

-- Members who look after the installation: they may replay and rebuild, which concerns every account. Only ./ravand admin member set-operator changes it.
ALTER TABLE members ADD COLUMN is_operator boolean NOT NULL DEFAULT false;

CREATE TABLE exports (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  kind text NOT NULL CHECK (kind IN ('events', 'messages', 'profiles', 'segment')),
  format text NOT NULL CHECK (format IN ('ndjson', 'csv')),
  spec json NOT NULL,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'ready', 'failed', 'expired')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  -- when the file of a ready export goes (168 h after it was written)
  expires_at timestamptz,
  -- rises with each try; writes under an older number are refused, so that a worker that lost the job changes nothing
  attempt integer NOT NULL DEFAULT 0,
  -- from when a worker may take it; the worker that runs it keeps moving this ahead, so that a job whose worker ended is taken by another one
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  rows bigint,
  bytes bigint,
  -- name of the file in the store
  file text,
  error text
);
CREATE INDEX exports_by_account ON exports (account_id, id DESC);
CREATE INDEX exports_unfinished ON exports (due_at) WHERE status IN ('queued', 'running');
CREATE INDEX exports_ready ON exports (expires_at) WHERE status = 'ready';

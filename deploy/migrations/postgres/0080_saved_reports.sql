-- Reports that members saved under a name: what the panel opens again, with its range as it was chosen ("the last 30 days").
CREATE TABLE saved_reports (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  name text NOT NULL CHECK (name <> ''),
  kind text NOT NULL CHECK (kind IN ('funnel', 'retention', 'trends', 'paths')),
  -- the state of the page, as its URL has it
  definition json NOT NULL CHECK (octet_length(definition::text) <= 65536),
  -- null: the member has left
  created_by bigint REFERENCES members ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX saved_reports_by_account ON saved_reports (account_id, updated_at DESC, id DESC);

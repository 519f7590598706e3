CREATE TABLE segments (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  name text NOT NULL CHECK (name <> ''),
  -- as the client sent it; json and not jsonb, which would reorder its keys
  definition json NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- the list: newest first (management 2.6)
CREATE INDEX segments_by_update ON segments (account_id, updated_at DESC, id DESC);

-- Short links (ingest 2.8, 4.7). A stored mapping never changes: the code follows from account and target.
CREATE TABLE short_links (
  code text PRIMARY KEY CHECK (code ~ '^[0-9A-HJKMNP-TV-Z]{7}$'),
  account_id bigint NOT NULL REFERENCES accounts,
  target text NOT NULL CHECK (target ~* '^https?://' AND octet_length(target) <= 2048),
  clicks bigint NOT NULL DEFAULT 0,
  last_click_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX short_links_by_account ON short_links (account_id, created_at DESC);

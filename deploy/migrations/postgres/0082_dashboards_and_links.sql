-- Saved reports beside each other under a name (the panel's dashboards).
CREATE TABLE dashboards (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  name text NOT NULL CHECK (name <> ''),
  -- in the order of the page; a report that was removed since is left out when it is read
  report_ids bigint[] NOT NULL CHECK (cardinality(report_ids) <= 24),
  -- null: the member has left
  created_by bigint REFERENCES members ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX dashboards_by_account ON dashboards (account_id, updated_at DESC, id DESC);

-- The links that members and operators made, without those of messages: what the panel lists.
CREATE INDEX short_links_made ON short_links (account_id, created_at DESC, code) WHERE position('sg_mid=' IN target) = 0;

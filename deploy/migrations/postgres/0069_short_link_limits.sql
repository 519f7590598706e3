-- Accounts with as many short links as one may have (projections/retention/sweep-links.ts): links in their messages stay long until older ones have gone.
CREATE TABLE short_link_limits (
  account_id bigint PRIMARY KEY,
  reached_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

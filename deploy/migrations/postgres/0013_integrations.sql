-- Inbound webhooks (ingest 2.8): one connection for each account and source.
CREATE TABLE webhook_connections (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  -- stamped on the events; null: they belong to no app
  app_id bigint REFERENCES apps,
  source text NOT NULL CHECK (source IN ('retail_marketplace', 'handmade_marketplace', 'price_comparison', 'payment_gateway',
    'hosted_storefront', 'plugin_storefront', 'event_pipeline')),
  label text NOT NULL DEFAULT '',
  -- 24 random bytes as base64url; minted once, no later save changes it
  token text NOT NULL UNIQUE CHECK (token ~ '^[A-Za-z0-9_-]{32}$'),
  -- platform/sealing.ts, purpose integration:ACCOUNT:SOURCE; null: none is stored
  secret bytea,
  enabled boolean NOT NULL DEFAULT true,
  -- deliveries that found the connection; events published; deliveries refused for their signature
  received bigint NOT NULL DEFAULT 0,
  accepted bigint NOT NULL DEFAULT 0,
  rejected bigint NOT NULL DEFAULT 0,
  -- empty after a success; at most 500 bytes
  last_error text NOT NULL DEFAULT '' CHECK (octet_length(last_error) <= 500),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (account_id, source)
);

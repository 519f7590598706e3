CREATE TABLE accounts (
  id bigserial PRIMARY KEY,
  name text NOT NULL CHECK (name <> ''),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  subscription text NOT NULL DEFAULT 'active' CHECK (subscription IN ('active', 'trial', 'trial_ended', 'cancelled')),
  -- days that events are kept; 0 keeps them for ever (ingest 2.4)
  retention_days integer NOT NULL DEFAULT 365 CHECK (retention_days = 0 OR retention_days BETWEEN 30 AND 3650),
  -- hard event ceiling of a Jalali month; 0 means none (ingest 8)
  max_events bigint NOT NULL DEFAULT 0 CHECK (max_events >= 0),
  included_events bigint NOT NULL DEFAULT 0 CHECK (included_events >= 0),
  included_profiles bigint NOT NULL DEFAULT 0 CHECK (included_profiles >= 0),
  invoice_due_at timestamptz,
  payment_declared boolean NOT NULL DEFAULT false,
  -- requests per minute of POST /v1/messages; null takes API_RATE_PER_MINUTE (management 8.2)
  api_rate_per_minute integer CHECK (api_rate_per_minute >= 0),
  -- addresses and CIDR ranges that management keys may come from; empty allows all (management 5)
  ip_allow text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE apps (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  name text NOT NULL CHECK (name <> ''),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (account_id, name)
);

CREATE TABLE write_keys (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  app_id bigint NOT NULL REFERENCES apps,
  environment text NOT NULL CHECK (environment <> ''),
  -- SHA-256 of the whole key; the key itself is shown once and never stored
  key_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);

CREATE TABLE management_keys (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  role text NOT NULL CHECK (role IN ('admin', 'marketer', 'analyst', 'viewer', 'approver', 'finance')),
  key_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);

-- On-site campaigns (MESSAGING.md). Gateways hold all live ones and the members of their audiences
-- in memory, and read what has a greater revision than they know.
CREATE TABLE onsite_revision (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  revision bigint NOT NULL DEFAULT 0
);
INSERT INTO onsite_revision DEFAULT VALUES;

-- The row of the counter is locked until the change commits: who sees a revision sees all before it.
CREATE FUNCTION next_onsite_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE onsite_revision SET revision = revision + 1 RETURNING revision INTO NEW.revision;
  RETURN NEW;
END $$;

CREATE TABLE onsite_campaigns (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  name text NOT NULL CHECK (name <> ''),
  -- events/channels/onsite/definition.ts, OnsiteDefinition
  definition json NOT NULL,
  definition_bytes integer GENERATED ALWAYS AS (octet_length(definition::text)) STORED,
  -- an audience definition (docs/audiences.md) and its SHA-256 in hexadecimal digits; null: everybody
  audience json,
  audience_key text CHECK (audience_key ~ '^[0-9a-f]{64}$'),
  -- null: at once, and for ever
  starts_at timestamptz,
  ends_at timestamptz CHECK (ends_at > starts_at),
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revision bigint NOT NULL,
  CHECK ((audience IS NULL) = (audience_key IS NULL))
);
CREATE INDEX onsite_campaigns_by_revision ON onsite_campaigns (revision);
CREATE INDEX onsite_campaigns_enabled ON onsite_campaigns (account_id, audience_key) WHERE enabled;
CREATE TRIGGER onsite_campaigns_changed BEFORE INSERT OR UPDATE ON onsite_campaigns
  FOR EACH ROW EXECUTE FUNCTION next_onsite_revision();

-- The audiences of live campaigns; a worker of management-api computes their members again and again.
CREATE TABLE onsite_audiences (
  account_id bigint NOT NULL REFERENCES accounts,
  audience text NOT NULL CHECK (audience ~ '^[0-9a-f]{64}$'),
  definition json NOT NULL,
  -- the members are in 2^bits chunks; null: never computed
  bits integer CHECK (bits BETWEEN 0 AND 16),
  -- all names of all members
  names bigint NOT NULL DEFAULT 0,
  -- when the current members were read
  computed_at timestamptz,
  -- why there are none; empty after a success
  error text NOT NULL DEFAULT '',
  -- a worker computes it until then
  leased_until timestamptz,
  started_at timestamptz,
  -- rises with each claim
  attempt bigint NOT NULL DEFAULT 0,
  revision bigint NOT NULL,
  PRIMARY KEY (account_id, audience)
);
CREATE INDEX onsite_audiences_by_revision ON onsite_audiences (revision);
CREATE TRIGGER onsite_audiences_added BEFORE INSERT ON onsite_audiences
  FOR EACH ROW EXECUTE FUNCTION next_onsite_revision();
CREATE TRIGGER onsite_audiences_changed BEFORE UPDATE OF bits ON onsite_audiences
  FOR EACH ROW WHEN (OLD.bits IS DISTINCT FROM NEW.bits) EXECUTE FUNCTION next_onsite_revision();

-- Chunk n has the names whose hashes begin with the bits of n (events/channels/onsite/visitor.ts):
-- UInt64, little-endian, ascending. Only a chunk that changed is written, and read by gateways.
CREATE TABLE onsite_audience_chunks (
  account_id bigint NOT NULL,
  audience text NOT NULL,
  bits integer NOT NULL,
  chunk integer NOT NULL,
  names bytea NOT NULL,
  -- SHA-256 of `names`
  digest bytea NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (account_id, audience, bits, chunk),
  FOREIGN KEY (account_id, audience) REFERENCES onsite_audiences ON DELETE CASCADE
);
CREATE INDEX onsite_audience_chunks_by_revision ON onsite_audience_chunks (revision);
ALTER TABLE onsite_audience_chunks ALTER COLUMN names SET STORAGE EXTERNAL;
CREATE TRIGGER onsite_audience_chunks_changed BEFORE INSERT OR UPDATE ON onsite_audience_chunks
  FOR EACH ROW EXECUTE FUNCTION next_onsite_revision();

-- Who has seen which campaign of frequency once or session; a copy of what the events say.
CREATE TABLE onsite_shown (
  account_id bigint NOT NULL,
  -- hash of a distinct id, 8 bytes
  visitor bytea NOT NULL,
  campaign_id bigint NOT NULL,
  shown_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, visitor, campaign_id)
);
CREATE INDEX onsite_shown_by_campaign ON onsite_shown (campaign_id, shown_at);

-- Rows of onsite_shown by account: their bound. Anybody can name new visitors with a public key.
CREATE TABLE onsite_shown_counts (
  account_id bigint PRIMARY KEY,
  rows bigint NOT NULL CHECK (rows >= 0)
);

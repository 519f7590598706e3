-- Outbound relays (ingest 2.8, 4.9, 6.2). Who reads and writes what: pipeline/relays/RELAYS.md.

CREATE TABLE relays (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  name text NOT NULL CHECK (name <> ''),
  url text NOT NULL CHECK (url <> ''),
  -- empty: every event
  events text[] NOT NULL DEFAULT '{}',
  -- events/relays/filter.ts: [{prop, op, value}]
  filters jsonb NOT NULL DEFAULT '[]',
  enabled boolean NOT NULL DEFAULT true,
  -- platform/sealing.ts, purpose relay:ACCOUNT:ID; null: none is stored, requests are not signed
  secret bytea,
  -- events that were accepted before are not delivered; moves when a disabled relay is enabled again
  active_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (account_id, name)
);

-- Every change of a relay counts it up, so that the processor reads the relays only when there is something new.
CREATE TABLE relay_revision (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  revision bigint NOT NULL DEFAULT 0
);
INSERT INTO relay_revision DEFAULT VALUES;
CREATE FUNCTION count_relay_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE relay_revision SET revision = revision + 1;
  RETURN NULL;
END $$;
CREATE TRIGGER relays_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON relays FOR EACH STATEMENT EXECUTE FUNCTION count_relay_revision();

-- The queue of what is still to be delivered, and the log of what was.
CREATE TABLE relay_deliveries (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL,
  relay_id bigint NOT NULL REFERENCES relays ON DELETE CASCADE,
  -- place of the event in the raw log: a delivery's identity within its relay
  epoch integer NOT NULL,
  partition integer NOT NULL,
  log_offset bigint NOT NULL,
  log_index integer NOT NULL,
  message_id text NOT NULL,
  event text NOT NULL,
  -- the very bytes that are sent and signed; null once it succeeded
  payload text,
  status text NOT NULL CHECK (status IN ('pending', 'succeeded', 'dead')),
  -- requests made since it became pending
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 10),
  -- of the last attempt; null: no answer
  response_status integer,
  -- beginning of the last failure, or what the delivery waits for
  error text CHECK (octet_length(error) <= 500),
  -- null unless pending
  next_attempt_at timestamptz,
  -- when it last became pending: creation, or a retry
  pending_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- a process that has it in hand until then; null: nobody
  leased_until timestamptz,
  lease_owner text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  UNIQUE (relay_id, epoch, partition, log_offset, log_index),
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
  CHECK (status = 'succeeded' OR payload IS NOT NULL)
);
CREATE INDEX relay_deliveries_due ON relay_deliveries (relay_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX relay_deliveries_log ON relay_deliveries (relay_id, id DESC);
CREATE INDEX relay_deliveries_succeeded ON relay_deliveries (relay_id, id DESC) WHERE status = 'succeeded';
CREATE INDEX relay_deliveries_dead ON relay_deliveries (finished_at) WHERE status = 'dead';

-- Every delivery that ended, and every attempt that failed, by hour of its end; the log above forgets successes.
CREATE TABLE relay_hours (
  relay_id bigint NOT NULL REFERENCES relays ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  succeeded bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0,
  failed_attempts bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (relay_id, hour)
);
CREATE INDEX relay_hours_by_hour ON relay_hours (hour);

-- How far each partition was worked through: what is at or before the place is delivered or stands in the queue.
CREATE TABLE relay_positions (
  partition integer PRIMARY KEY,
  epoch integer NOT NULL,
  log_offset bigint NOT NULL,
  log_index integer NOT NULL
);

-- What each relay has in its queue and in its dead log: bounds, gauges and claims read these counts
-- instead of the deliveries (pipeline/relays/RELAYS.md). A trigger keeps them, whoever writes.
CREATE TABLE relay_queues (
  relay_id bigint PRIMARY KEY REFERENCES relays ON DELETE CASCADE,
  account_id bigint NOT NULL,
  pending_rows bigint NOT NULL DEFAULT 0,
  -- of the payloads, as PostgreSQL measures them without compression
  pending_bytes bigint NOT NULL DEFAULT 0,
  dead_rows bigint NOT NULL DEFAULT 0,
  dead_bytes bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Nobody writes deliveries between the first counts and the trigger.
LOCK TABLE relay_deliveries IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO relay_queues (relay_id, account_id, pending_rows, pending_bytes, dead_rows, dead_bytes)
  SELECT d.relay_id, r.account_id, count(*) FILTER (WHERE d.status = 'pending'), coalesce(sum(octet_length(d.payload)) FILTER (WHERE d.status = 'pending'), 0),
    count(*) FILTER (WHERE d.status = 'dead'), coalesce(sum(octet_length(d.payload)) FILTER (WHERE d.status = 'dead'), 0)
  FROM relay_deliveries d JOIN relays r ON r.id = d.relay_id WHERE d.status IN ('pending', 'dead') GROUP BY d.relay_id, r.account_id;

-- Ordered by relay, so that two statements cannot deadlock. The rows of a relay that is being
-- deleted are not counted: its counts are deleted with it.
CREATE FUNCTION count_relay_queues() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO relay_queues AS q (relay_id, account_id, pending_rows, pending_bytes, dead_rows, dead_bytes)
      SELECT c.relay_id, r.account_id, count(*) FILTER (WHERE c.status = 'pending'), coalesce(sum(octet_length(c.payload)) FILTER (WHERE c.status = 'pending'), 0),
        count(*) FILTER (WHERE c.status = 'dead'), coalesce(sum(octet_length(c.payload)) FILTER (WHERE c.status = 'dead'), 0)
      FROM new_rows c JOIN relays r ON r.id = c.relay_id WHERE c.status <> 'succeeded' GROUP BY c.relay_id, r.account_id ORDER BY c.relay_id
    ON CONFLICT (relay_id) DO UPDATE SET pending_rows = q.pending_rows + excluded.pending_rows, pending_bytes = q.pending_bytes + excluded.pending_bytes,
      dead_rows = q.dead_rows + excluded.dead_rows, dead_bytes = q.dead_bytes + excluded.dead_bytes;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO relay_queues AS q (relay_id, account_id, pending_rows, pending_bytes, dead_rows, dead_bytes)
      SELECT c.relay_id, r.account_id, -count(*) FILTER (WHERE c.status = 'pending'), -coalesce(sum(octet_length(c.payload)) FILTER (WHERE c.status = 'pending'), 0),
        -count(*) FILTER (WHERE c.status = 'dead'), -coalesce(sum(octet_length(c.payload)) FILTER (WHERE c.status = 'dead'), 0)
      FROM old_rows c JOIN relays r ON r.id = c.relay_id WHERE c.status <> 'succeeded' GROUP BY c.relay_id, r.account_id ORDER BY c.relay_id
    ON CONFLICT (relay_id) DO UPDATE SET pending_rows = q.pending_rows + excluded.pending_rows, pending_bytes = q.pending_bytes + excluded.pending_bytes,
      dead_rows = q.dead_rows + excluded.dead_rows, dead_bytes = q.dead_bytes + excluded.dead_bytes;
  ELSE
    INSERT INTO relay_queues AS q (relay_id, account_id, pending_rows, pending_bytes, dead_rows, dead_bytes)
      SELECT c.relay_id, r.account_id, coalesce(sum(c.sign) FILTER (WHERE c.status = 'pending'), 0), coalesce(sum(c.sign * c.bytes) FILTER (WHERE c.status = 'pending'), 0),
        coalesce(sum(c.sign) FILTER (WHERE c.status = 'dead'), 0), coalesce(sum(c.sign * c.bytes) FILTER (WHERE c.status = 'dead'), 0)
      FROM (SELECT relay_id, status, octet_length(payload) AS bytes, 1 AS sign FROM new_rows UNION ALL SELECT relay_id, status, octet_length(payload), -1 FROM old_rows) c
      JOIN relays r ON r.id = c.relay_id GROUP BY c.relay_id, r.account_id
      -- A lease changes no count.
      HAVING coalesce(sum(c.sign) FILTER (WHERE c.status = 'pending'), 0) <> 0 OR coalesce(sum(c.sign) FILTER (WHERE c.status = 'dead'), 0) <> 0
      ORDER BY c.relay_id
    ON CONFLICT (relay_id) DO UPDATE SET pending_rows = q.pending_rows + excluded.pending_rows, pending_bytes = q.pending_bytes + excluded.pending_bytes,
      dead_rows = q.dead_rows + excluded.dead_rows, dead_bytes = q.dead_bytes + excluded.dead_bytes;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER relay_deliveries_inserted AFTER INSERT ON relay_deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_relay_queues();
CREATE TRIGGER relay_deliveries_updated AFTER UPDATE ON relay_deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_relay_queues();
CREATE TRIGGER relay_deliveries_deleted AFTER DELETE ON relay_deliveries REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_relay_queues();

-- Deliveries that have been pending for too long, whatever they wait for.
CREATE INDEX relay_deliveries_pending_since ON relay_deliveries (relay_id, pending_since) WHERE status = 'pending';

-- Dead deliveries of one relay: a retry, and the bound of the dead log.
CREATE INDEX relay_deliveries_dead_of_relay ON relay_deliveries (relay_id, id) WHERE status = 'dead';

-- Relays of a suspended account deliver nothing: the service reads the relays again when that changes.
CREATE TRIGGER accounts_relays_changed AFTER UPDATE OF status ON accounts FOR EACH STATEMENT EXECUTE FUNCTION count_relay_revision();

-- Why the service disabled a relay; null: a person did, or it is enabled.
ALTER TABLE relays ADD COLUMN disabled_reason text;

-- One number that changes with every change that a delivery must notice: gateways keep connections
-- and read only this row for each delivery (or every 20 ms). The row is locked until the change
-- commits, so a gateway never sees the number before the change. Counters do not change it.
CREATE TABLE webhook_revision (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  revision bigint NOT NULL
);
INSERT INTO webhook_revision (revision) VALUES (1);

CREATE FUNCTION next_webhook_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE webhook_revision SET revision = revision + 1;
  RETURN NULL;
END
$$;

CREATE TRIGGER webhook_revision
  AFTER INSERT OR DELETE OR UPDATE OF account_id, app_id, source, token, secret, enabled ON webhook_connections
  FOR EACH STATEMENT EXECUTE FUNCTION next_webhook_revision();

CREATE TRIGGER webhook_revision AFTER DELETE OR UPDATE OF status ON accounts
  FOR EACH STATEMENT EXECUTE FUNCTION next_webhook_revision();

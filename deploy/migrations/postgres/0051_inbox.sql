-- In-app inboxes: entries are written when messages are sent, read by POST /v1/inbox, and marked as
-- read by commands of kind inbox_read (platform/inbox/inbox-entries.ts).
CREATE TABLE inbox_entries (
  account_id bigint NOT NULL,
  -- platform/postgres/escaped-text.ts
  user_id text NOT NULL,
  -- the message id
  id text NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  url text,
  -- a JSON object for the app
  data json,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- null: unread; never becomes null again
  read_at timestamptz,
  PRIMARY KEY (account_id, user_id, id)
);
CREATE INDEX inbox_entries_newest ON inbox_entries (account_id, user_id, created_at DESC, id DESC);
CREATE INDEX inbox_entries_unread ON inbox_entries (account_id, user_id, id) WHERE read_at IS NULL;

-- A user has the newest 1,000 entries, whoever writes them. Rows are locked in the order in which
-- reads lock them, so that neither waits for the other.
CREATE FUNCTION trim_inbox_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH beyond AS (
    SELECT u.account_id, u.user_id, oldest.created_at, oldest.id
    FROM (SELECT DISTINCT account_id, user_id FROM new_rows) u
    CROSS JOIN LATERAL (
      SELECT e.created_at, e.id FROM inbox_entries e WHERE e.account_id = u.account_id AND e.user_id = u.user_id
      ORDER BY e.created_at DESC, e.id DESC OFFSET 1000 LIMIT 1) oldest
  ), locked AS (
    SELECT e.account_id, e.user_id, e.id
    FROM inbox_entries e JOIN beyond b ON e.account_id = b.account_id AND e.user_id = b.user_id AND (e.created_at, e.id) <= (b.created_at, b.id)
    ORDER BY e.account_id, e.user_id, e.id FOR UPDATE OF e
  )
  DELETE FROM inbox_entries e USING locked l WHERE e.account_id = l.account_id AND e.user_id = l.user_id AND e.id = l.id;
  RETURN NULL;
END $$;
CREATE TRIGGER inbox_entries_trimmed AFTER INSERT ON inbox_entries REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION trim_inbox_entries();

-- The second credential of the inbox (ingest 5.2): at most two secrets of an app are live, so that
-- an app's backend can move to the new one.
CREATE TABLE app_inbox_secrets (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  app_id bigint NOT NULL REFERENCES apps,
  -- platform/sealing.ts, purpose inbox_secret:ACCOUNT:APP
  secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- null: live
  retired_at timestamptz
);
CREATE INDEX app_inbox_secrets_live ON app_inbox_secrets (app_id, id DESC) WHERE retired_at IS NULL;

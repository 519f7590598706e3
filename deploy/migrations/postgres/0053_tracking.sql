-- To whom messages were sent: what the tokens of /e/ pages and of bounce addresses name (events/channels/tracking-token.ts). A row is written before its provider is called, and kept for 400 days at least, as long as tokens are valid. Texts: a backslash is doubled, and NUL is \0.
CREATE TABLE message_recipients (
  account_id bigint NOT NULL,
  ref bytea NOT NULL CHECK (length(ref) = 12),
  -- a distinct id of the person: consents are recorded under it
  user_id text NOT NULL,
  channel text NOT NULL,
  -- 0: of no campaign
  campaign_id bigint NOT NULL,
  message_id text NOT NULL,
  -- an e-mail address in lower case, or what else the channel sends to
  address text NOT NULL,
  -- of the event message_opened: empty and 0 are left out
  category text NOT NULL DEFAULT '',
  template_id bigint NOT NULL DEFAULT 0,
  variant_id text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL DEFAULT now(),
  -- the first open, whose event is durable; and the first one that is not of a mail proxy or a bot
  opened_at timestamptz,
  opened_by_person_at timestamptz,
  PRIMARY KEY (account_id, ref)
);
CREATE INDEX message_recipients_user ON message_recipients (account_id, user_id);
CREATE INDEX message_recipients_created ON message_recipients (created_at);

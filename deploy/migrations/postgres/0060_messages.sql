-- Messages (docs/messages.md): by what an account sends, its templates and campaigns, and the ledger in which each recipient gets one outcome. Texts from clients: a backslash is doubled, and NUL is \0.

-- Rises with each change of a sender, whichever it is.
CREATE SEQUENCE message_sender_revisions;

-- By what an account sends on a channel: one provider, or one of each push service (messaging/senders).
CREATE TABLE message_senders (
  account_id bigint NOT NULL REFERENCES accounts,
  channel text NOT NULL,
  -- the order in which secrets are sealed again
  id bigserial UNIQUE,
  provider text NOT NULL,
  -- as it was given (messaging/senders), without secrets
  config json NOT NULL,
  -- platform/sealing.ts, purpose message_sender:ACCOUNT:CHANNEL; null: the provider needs none
  secret bytea,
  enabled boolean NOT NULL DEFAULT true,
  -- rises with each change: open connections are made anew
  revision bigint NOT NULL DEFAULT nextval('message_sender_revisions'),
  -- why nothing can be sent until somebody acts, as the provider said; empty: it works
  broken_reason text NOT NULL DEFAULT '',
  broken_at timestamptz,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, channel, provider)
);

-- consent_default, frequency_cap, quiet_hours, approval_required, send limits (messaging/settings); no row: the defaults.
CREATE TABLE message_settings (
  account_id bigint PRIMARY KEY REFERENCES accounts,
  settings json NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE message_templates (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  name text NOT NULL CHECK (name <> ''),
  channel text NOT NULL,
  category text NOT NULL CHECK (category IN ('transactional', 'service', 'marketing')),
  -- the newest one
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX message_templates_account ON message_templates (account_id, id);

-- A version never changes: messages name the one that they were made of.
CREATE TABLE message_template_versions (
  template_id bigint NOT NULL REFERENCES message_templates,
  version integer NOT NULL,
  -- {subject?, title?, text?, html?, url?, data?}
  content json NOT NULL,
  content_bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(content::text)) STORED,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (template_id, version)
);

-- Variables that rendered empty because they were missing; at most 100 of a version.
CREATE TABLE message_template_missing (
  template_id bigint NOT NULL,
  version integer NOT NULL,
  variable text NOT NULL,
  messages bigint NOT NULL,
  PRIMARY KEY (template_id, version, variable)
);

CREATE TABLE campaigns (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  name text NOT NULL,
  channel text NOT NULL,
  -- messaging/campaigns/definition.ts
  definition json NOT NULL,
  definition_bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(definition::text)) STORED,
  -- of the definition, for lists
  scheduled_at timestamptz,
  -- rises with each change of the definition or the recurrence: an approval is of one version
  version integer NOT NULL DEFAULT 1,
  status text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'scheduled', 'sending', 'paused', 'sent', 'cancelled', 'failed')),
  submitted_version integer,
  approved_version integer,
  approved_at timestamptz,
  -- {rule, starts_at, time_zone}; null: none
  recurrence json,
  -- the next instance of the recurrence; null: none is left
  next_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX campaigns_newest ON campaigns (account_id, updated_at DESC, id DESC);
CREATE INDEX campaigns_due ON campaigns (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE campaign_runs (
  id bigserial PRIMARY KEY,
  campaign_id bigint NOT NULL REFERENCES campaigns,
  account_id bigint NOT NULL,
  cause text NOT NULL CHECK (cause IN ('send', 'recurrence')),
  -- confirm: it is more than an hour late and waits for a person, who makes it `scheduled` again with confirmed_at
  state text NOT NULL CHECK (state IN ('scheduled', 'confirm', 'planning', 'sending', 'finished', 'cancelled', 'missed', 'failed')),
  -- asked for by a person; the dispatcher obeys when it opens a message
  paused boolean NOT NULL DEFAULT false,
  cancelled boolean NOT NULL DEFAULT false,
  due_at timestamptz NOT NULL,
  -- a person let it start late
  confirmed_at timestamptz,
  -- the definition and its version when the run was asked for: later edits do not change it
  definition json NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The frozen audience: rows of ClickHouse's campaign_recipients with this attempt. Null: not frozen.
  freeze_attempt integer NOT NULL DEFAULT 0,
  frozen_at timestamptz,
  -- {audience, identities_revision}
  frozen json,
  -- people of the frozen audience, the control group among them: `planned` of the balance
  planned bigint NOT NULL DEFAULT 0,
  -- chunks that are durable in messages.planned, and the key of the last recipient of the last one
  chunks integer NOT NULL DEFAULT 0,
  last_key text NOT NULL DEFAULT '',
  -- all chunks are written
  is_planned boolean NOT NULL DEFAULT false,
  -- Of the planner. Without leased_by: it is not planned before leased_until.
  leased_by text,
  leased_until timestamptz,
  -- rises with each lease
  fence bigint NOT NULL DEFAULT 0,
  -- the last lease: accounts take turns
  turn_at timestamptz,
  -- retries end then, 24 h after the first chunk
  deadline_at timestamptz,
  finished_at timestamptz,
  error text NOT NULL DEFAULT '',
  -- of the definition, which is long: what stats are counted by (management-api/campaigns/stats); null: no goal
  goal_event text GENERATED ALWAYS AS (definition #>> '{goal,event}') STORED,
  goal_hours integer GENERATED ALWAYS AS ((definition #>> '{goal,window_hours}')::integer) STORED,
  control_percent integer GENERATED ALWAYS AS (coalesce((definition ->> 'control_percent')::integer, 0)) STORED
);
CREATE INDEX campaign_runs_goal ON campaign_runs (account_id, frozen_at DESC) WHERE frozen_at IS NOT NULL AND goal_event IS NOT NULL;
CREATE INDEX campaign_runs_campaign ON campaign_runs (campaign_id, id DESC);
CREATE INDEX campaign_runs_account ON campaign_runs (account_id, created_at);
CREATE INDEX campaign_runs_active ON campaign_runs (due_at) WHERE state IN ('scheduled', 'confirm', 'planning', 'sending');
-- What the planner has to do, and whose turn it is.
CREATE INDEX campaign_runs_scheduled ON campaign_runs (due_at) WHERE state = 'scheduled';
CREATE INDEX campaign_runs_planning ON campaign_runs (account_id, due_at, id) WHERE state = 'planning';
CREATE INDEX campaign_runs_turns ON campaign_runs (account_id, turn_at DESC) WHERE turn_at IS NOT NULL;
-- An instance of a recurrence is one run, whoever finds it due.
CREATE UNIQUE INDEX campaign_runs_instance ON campaign_runs (campaign_id, due_at) WHERE cause = 'recurrence';

-- The chunks of messages.planned that wait or are being sent (pipeline/dispatcher). Bit n is recipient n.
CREATE TABLE message_chunks (
  run_id bigint NOT NULL,
  chunk integer NOT NULL,
  account_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  channel text NOT NULL,
  -- the record message-chunk.v1
  record bytea NOT NULL,
  recipients integer NOT NULL,
  -- the key of the first recipient: finds the chunk of a person
  first_key text NOT NULL,
  -- an attempt is recorded here before its provider is called, and removed when the provider certainly did not take it
  opened bytea NOT NULL,
  -- the provider that opened them and the revision of its sender: another one cannot repeat them
  opened_with text NOT NULL DEFAULT '',
  -- has an outcome
  finished bytea NOT NULL,
  -- recipients that are tried again: [{index, attempts, at}], ms since the epoch
  retries json NOT NULL DEFAULT '[]',
  -- the chunk waits until then
  next_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  leased_by text,
  leased_until timestamptz,
  -- rises with each lease and each write: a statement whose answer was lost takes effect once
  fence bigint NOT NULL DEFAULT 0,
  is_done boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, chunk)
);
CREATE INDEX message_chunks_waiting ON message_chunks (run_id, next_at, chunk) WHERE NOT is_done;
-- Finds the chunk of a person.
CREATE INDEX message_chunks_keys ON message_chunks (run_id, first_key);

-- Up to where each partition of messages.planned is in message_chunks.
CREATE TABLE message_positions (
  partition integer PRIMARY KEY,
  epoch integer NOT NULL,
  next_offset bigint NOT NULL
);

-- The balance: planned = the sum over all statuses + in flight. Changed by the statement that settles.
CREATE TABLE campaign_run_counts (
  run_id bigint NOT NULL,
  status text NOT NULL CHECK (status IN ('sent', 'failed', 'withheld', 'skipped')),
  reason text NOT NULL,
  messages bigint NOT NULL,
  PRIMARY KEY (run_id, status, reason)
);
CREATE TABLE message_totals (
  account_id bigint NOT NULL,
  -- planned, sent, failed, withheld or skipped: of campaigns
  status text NOT NULL,
  messages bigint NOT NULL,
  PRIMARY KEY (account_id, status)
);
-- Sent messages of a Jalali month (as meters count events), transactional ones too.
CREATE TABLE message_meters (
  account_id bigint NOT NULL,
  -- YYYY-MM
  month text NOT NULL,
  channel text NOT NULL,
  messages bigint NOT NULL,
  PRIMARY KEY (account_id, month, channel)
);

-- Outcomes that are not in messages.outcomes yet, written by the statement that settles them.
CREATE TABLE message_outbox (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL,
  -- records of message-outcome.v1, each behind its length (4 bytes, big-endian)
  outcomes bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The process that publishes them; after its lease another one does, and the first of all.
  leased_by text,
  leased_until timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX message_outbox_due ON message_outbox (leased_until, id);

-- Of senders with a limit a second: their calls up to this time are used up, by whichever dispatcher.
CREATE TABLE message_sender_rates (
  account_id bigint NOT NULL,
  channel text NOT NULL,
  used_until timestamptz NOT NULL,
  PRIMARY KEY (account_id, channel)
);

-- Transactional messages by idempotency key (management 3.4), for API_IDEMPOTENCY_RETENTION.
CREATE TABLE transactional_messages (
  account_id bigint NOT NULL,
  idempotency_key text NOT NULL,
  -- random, of the newest reservation, which alone may send or settle: never the same again, also when the row was removed meanwhile
  fence bigint NOT NULL,
  reserved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- a provider was called, or is about to be: an answer that is missing is outcome_unknown
  opened_at timestamptz,
  -- provider and revision of the sender that was called; one that takes no message twice may be called again
  opened_with text NOT NULL DEFAULT '',
  -- the answer to the request; null: in flight
  result json,
  finished_at timestamptz,
  PRIMARY KEY (account_id, idempotency_key)
);
CREATE INDEX transactional_messages_age ON transactional_messages (reserved_at);

-- Marketing messages that count for a frequency cap (messaging/caps). One row of each person, because the row is what makes the count atomic: a statement that waits for it sees what the other one wrote.
CREATE TABLE message_caps (
  account_id bigint NOT NULL,
  channel text NOT NULL,
  -- personKey of the canonical person (events/messages/message-id.ts)
  person text NOT NULL,
  -- when each message was reserved, ms since the epoch, by message id
  reserved jsonb NOT NULL,
  -- nothing in it counts any more
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, channel, person)
);
CREATE INDEX message_caps_expired ON message_caps (expires_at);

-- Of people who may have been merged after the freeze: as which of their recipients the run sends (reason `merged` for the others). Both are keys of recipients (personKey); person: that of the canonical id when it was decided.
CREATE TABLE campaign_run_merged (
  run_id bigint NOT NULL,
  person text NOT NULL,
  sends_as text NOT NULL,
  -- it sends some seconds later, when whoever did not know of the merge has sent or looks again
  decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, person)
);

-- Opt-outs that a gateway accepted while it could not write channel.commands: the dispatcher obeys them at once; removed when the projection has caught up with the command (received_at, gateway, sequence).
CREATE TABLE announced_opt_outs (
  account_id bigint NOT NULL,
  user_id text NOT NULL,
  channel text NOT NULL,
  received_at bigint NOT NULL,
  gateway text NOT NULL DEFAULT '',
  sequence bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, user_id, channel)
);

-- The key of the ids of message_sent, message_failed and message_withheld (events/messages/platform-event.ts): nobody can send an event under one first. It never changes, so that an event that is written again has the same id.
CREATE TABLE platform_event_key (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  key bytea NOT NULL CHECK (octet_length(key) = 32)
);
INSERT INTO platform_event_key (key) VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- The channel of a run's messages, of its definition: the dispatcher looks for work channel by channel (pipeline/dispatcher/store/lease-chunks.ts).
ALTER TABLE campaign_runs ADD COLUMN channel text GENERATED ALWAYS AS (definition ->> 'channel') STORED;
CREATE INDEX campaign_runs_channels ON campaign_runs (account_id, channel) WHERE state IN ('planning', 'sending');
-- Runs in which everybody who waits ends now: those that were cancelled, and those that are past their deadline.
CREATE INDEX campaign_runs_ending ON campaign_runs ((CASE WHEN cancelled THEN '-infinity'::timestamptz ELSE deadline_at END)) WHERE state IN ('planning', 'sending');

-- A job that runs while this is migrated is started again: its account may have several of them.
UPDATE exports SET status = 'queued', due_at = clock_timestamp() WHERE status = 'running';
-- when a worker last claimed it: the next job is of the account that was served longest ago
ALTER TABLE exports ADD COLUMN claimed_at timestamptz;
-- attempts that failed, or whose worker died; attempt also rises when a worker stops gracefully
ALTER TABLE exports ADD COLUMN failures integer NOT NULL DEFAULT 0;
-- number among the open jobs of the account; null in jobs of earlier versions
ALTER TABLE exports ADD COLUMN slot smallint;
CREATE UNIQUE INDEX exports_open ON exports (account_id, slot) WHERE status IN ('queued', 'running');
CREATE UNIQUE INDEX exports_running ON exports (account_id) WHERE status = 'running';
CREATE INDEX exports_turns ON exports (account_id, claimed_at);

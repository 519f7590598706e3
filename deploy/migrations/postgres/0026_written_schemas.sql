-- The version that writers of the log write, by subject (platform/log/written-schemas.ts): one that every reader of the installation knows. ./ravand log finish-upgrade advances it.
CREATE TABLE written_schemas (
  subject text PRIMARY KEY,
  version integer NOT NULL CHECK (version > 0),
  changed_at timestamptz NOT NULL DEFAULT now()
);
-- A new installation has no reader of an older release; one whose sink has owned a partition may have.
INSERT INTO written_schemas (subject, version)
SELECT 'event-row', CASE WHEN EXISTS (SELECT 1 FROM sink_ranges) THEN 1 ELSE 2 END;

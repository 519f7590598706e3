-- Ingest outcomes of version 2 have the balance of an SDK. A new installation has no reader of an older release; one whose sink has owned a partition may have.
INSERT INTO written_schemas (subject, version)
SELECT 'ingest-outcome', CASE WHEN EXISTS (SELECT 1 FROM sink_ranges) THEN 1 ELSE 2 END
ON CONFLICT (subject) DO NOTHING;

-- Claims of version 2 are packed, which earlier releases of the normaliser and the gateway do not read. A new installation has none; one whose sink has owned a partition may have.
INSERT INTO written_schemas (subject, version)
SELECT 'claims', CASE WHEN EXISTS (SELECT 1 FROM sink_ranges) THEN 1 ELSE 2 END
ON CONFLICT (subject) DO NOTHING;

-- Raw records of version 2 are sent in batches, which earlier releases of the normaliser and of metering do not read. A new installation has no such reader; one whose sink has owned a partition may have.
INSERT INTO written_schemas (subject, version)
SELECT 'raw-batch', CASE WHEN EXISTS (SELECT 1 FROM sink_ranges) THEN 1 ELSE 2 END
ON CONFLICT (subject) DO NOTHING;

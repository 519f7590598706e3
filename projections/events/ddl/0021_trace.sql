-- X-Service-Trace of the request that brought the event (event-row.v2): support and ./ravand why --trace find events by it. Empty in rows of version 1.
ALTER TABLE events ADD COLUMN IF NOT EXISTS _trace String CODEC(ZSTD(1));
-- Random ids in every granule: one that a filter of 8192 rows does not know is not read.
ALTER TABLE events ADD INDEX IF NOT EXISTS traces _trace TYPE bloom_filter(0.01) GRANULARITY 1;

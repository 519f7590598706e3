-- A day after an event came, merges write it in ZSTD: two fifths less on disk (docs/performance.md, "Reports"). Until then parts are merged often, and stay in LZ4.
-- Parts of earlier releases are not rewritten at once, but with their next merge.
ALTER TABLE events MODIFY TTL toDateTime(timestamp) + INTERVAL 400 DAY DELETE, toDateTime(received_at) + INTERVAL 1 DAY RECOMPRESS CODEC(ZSTD(3)) SETTINGS materialize_ttl_after_modify = 0;

-- Expired rows go with their whole part, at the end of their month: with ttl_only_drop_parts = 0 each part that held one expired row was rewritten every hour for a month. Readers leave out rows older than 400 days (platform/clickhouse/kept-events.ts).
ALTER TABLE events MODIFY SETTING ttl_only_drop_parts = 1;
ALTER TABLE ingest_quality MODIFY SETTING ttl_only_drop_parts = 1;
-- Has no partitions, and few rows: its expired rows are merged away once a day.
ALTER TABLE event_catalogue MODIFY SETTING merge_with_ttl_timeout = 86400;

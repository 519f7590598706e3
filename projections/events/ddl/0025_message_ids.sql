-- ./ravand why finds an event by its message id: without an index it read every row of the account. Ids are spread over all granules: one that a filter of 8192 rows does not know is not read.
ALTER TABLE events ADD INDEX IF NOT EXISTS message_ids message_id TYPE bloom_filter(0.01) GRANULARITY 1;
-- Parts of earlier releases get it in the background.
ALTER TABLE events MATERIALIZE INDEX message_ids;

-- The sink reads states of people at random. A row of `profiles` has 45 streams in granules of 128 rows; `_state` is the row as one string, which the projection keeps by a hash of the person in granules of 16: docs/performance.md, "Loads among many people".
ALTER TABLE profiles ADD COLUMN IF NOT EXISTS _key UInt32 MATERIALIZED toUInt32(sipHash64(account_id, name));
-- The key, then the columns as in projections/profiles/profile-row.ts. The table itself has it only to compute the projection again.
ALTER TABLE profiles ADD COLUMN IF NOT EXISTS _state String MATERIALIZED concat(reinterpretAsFixedString(_key), formatRow('RowBinary', account_id, name, user_id, anonymous_id, _epoch, _partition, _offset, _index, event_count, first_seen, last_seen, total_revenue, order_count, last_order_at, email, phone, first_name, last_name, gender, birthday, national_id, city, region, country, language, timezone, push_opt_in, email_opt_in, sms_opt_in, traits, trait_numbers, _stamps)) CODEC(ZSTD(3));
-- A merge that drops replaced rows, and a delete, compute the projection of the new part. A load decompresses a block for each person: small ones, with the lengths of strings beside them.
ALTER TABLE profiles MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild', lightweight_mutation_projection_mode = 'rebuild', min_compress_block_size = 4096, string_serialization_version = 'single_stream';
ALTER TABLE profiles ADD PROJECTION IF NOT EXISTS states (SELECT _key, _state ORDER BY _key) WITH SETTINGS (index_granularity = 16);
-- Rows of earlier releases get it before the migration ends; until then a load reads their parts as a whole.
ALTER TABLE profiles MATERIALIZE PROJECTION states SETTINGS mutations_sync = 2;

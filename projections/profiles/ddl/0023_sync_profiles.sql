-- After a power cut ClickHouse may lack what it had not synced, and a profile is not written again until its next event: each insert is synced. Merges are not: ClickHouse keeps merged parts until the new one is on disk.
ALTER TABLE profiles MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

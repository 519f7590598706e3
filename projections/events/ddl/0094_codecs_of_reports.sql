-- Reports read the time and the person of each event. T64 writes 64 times in as many bits as they differ in: 3.5 bytes a time instead of 4.6, and less than half of the CPU to read. The hash of a person cannot be compressed unless it repeats, which LZ4 finds too (docs/performance.md, "Reports").
-- Parts of earlier releases are not rewritten at once, but with their next merge.
ALTER TABLE events MODIFY COLUMN timestamp CODEC(T64, ZSTD), MODIFY COLUMN received_at CODEC(T64, ZSTD), MODIFY COLUMN _offset CODEC(T64, ZSTD), MODIFY COLUMN _person CODEC(LZ4);
-- Values of properties are short: the length of each beside it takes 11.4 bytes an event instead of 13.2 in a stream of lengths of 64 bits, in LZ4 19 instead of 30, and a filter on a property three quarters of the CPU.
ALTER TABLE events MODIFY SETTING propagate_types_serialization_versions_to_nested_types = 0;

-- An insert of the sink is a small part. Merging more of them at once writes a row less often: a tenth more events a second through everything on two cores (docs/performance.md).
ALTER TABLE events MODIFY SETTING merge_selector_base = 10;

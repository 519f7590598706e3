-- The failed items of a dead letter that stands for several items of a record; null: `item` alone, or the whole record.
ALTER TABLE dead_letters ADD COLUMN items integer[];

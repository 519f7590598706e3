-- Of the places of a minute or day: events that the platform wrote itself, which are not billed.
ALTER TABLE books ADD COLUMN unbilled bigint NOT NULL DEFAULT 0;
ALTER TABLE book_days ADD COLUMN unbilled bigint NOT NULL DEFAULT 0;

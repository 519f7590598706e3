-- The books in constant time: a running total per account, and one row a day for days that are past.

-- The books of a day in Tehran whose minutes are 70 days old: the sum of its minutes, compared as a whole when something is counted late.
CREATE TABLE book_days (
  account_id bigint NOT NULL,
  day timestamptz NOT NULL,
  places bigint NOT NULL DEFAULT 0,
  repeats bigint NOT NULL DEFAULT 0,
  duplicates_after bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0,
  expired bigint NOT NULL DEFAULT 0,
  duplicates_before bigint NOT NULL DEFAULT 0,
  rejected bigint NOT NULL DEFAULT 0,
  stored bigint NOT NULL DEFAULT 0,
  open boolean NOT NULL DEFAULT true,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, day)
);
CREATE INDEX book_days_open ON book_days (changed_at) WHERE open;

-- Start of the day in Tehran (UTC+3:30, without daylight time since 2022).
CREATE FUNCTION book_day(minute timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
$$ SELECT to_timestamp(floor((extract(epoch FROM minute) + 12600) / 86400) * 86400 - 12600) $$;

-- The sum of all minutes and days that were ever booked.
CREATE TABLE book_totals (
  account_id bigint PRIMARY KEY,
  places bigint NOT NULL DEFAULT 0,
  repeats bigint NOT NULL DEFAULT 0,
  duplicates_after bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0,
  expired bigint NOT NULL DEFAULT 0,
  duplicates_before bigint NOT NULL DEFAULT 0,
  rejected bigint NOT NULL DEFAULT 0,
  stored bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Whoever changes a minute or a day changes the total in the same statement. Moving a minute into its day changes nothing: it is taken away here and added there. Removing an old day is no trigger: the total keeps it.
CREATE FUNCTION add_to_book_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO book_totals AS t (account_id, places, repeats, duplicates_after, dead, expired, duplicates_before, rejected, stored)
    SELECT account_id, sum(places), sum(repeats), sum(duplicates_after), sum(dead), sum(expired), sum(duplicates_before), sum(rejected), sum(stored)
    FROM added GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET places = t.places + excluded.places, repeats = t.repeats + excluded.repeats,
      duplicates_after = t.duplicates_after + excluded.duplicates_after, dead = t.dead + excluded.dead, expired = t.expired + excluded.expired,
      duplicates_before = t.duplicates_before + excluded.duplicates_before, rejected = t.rejected + excluded.rejected, stored = t.stored + excluded.stored;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO book_totals AS t (account_id, places, repeats, duplicates_after, dead, expired, duplicates_before, rejected, stored)
    SELECT account_id, -sum(places), -sum(repeats), -sum(duplicates_after), -sum(dead), -sum(expired), -sum(duplicates_before), -sum(rejected), -sum(stored)
    FROM removed GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET places = t.places + excluded.places, repeats = t.repeats + excluded.repeats,
      duplicates_after = t.duplicates_after + excluded.duplicates_after, dead = t.dead + excluded.dead, expired = t.expired + excluded.expired,
      duplicates_before = t.duplicates_before + excluded.duplicates_before, rejected = t.rejected + excluded.rejected, stored = t.stored + excluded.stored;
  ELSE
    INSERT INTO book_totals AS t (account_id, places, repeats, duplicates_after, dead, expired, duplicates_before, rejected, stored)
    SELECT account_id, sum(places), sum(repeats), sum(duplicates_after), sum(dead), sum(expired), sum(duplicates_before), sum(rejected), sum(stored)
    FROM (
      SELECT account_id, places, repeats, duplicates_after, dead, expired, duplicates_before, rejected, stored FROM added
      UNION ALL
      SELECT account_id, -places, -repeats, -duplicates_after, -dead, -expired, -duplicates_before, -rejected, -stored FROM removed
    ) AS changed GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET places = t.places + excluded.places, repeats = t.repeats + excluded.repeats,
      duplicates_after = t.duplicates_after + excluded.duplicates_after, dead = t.dead + excluded.dead, expired = t.expired + excluded.expired,
      duplicates_before = t.duplicates_before + excluded.duplicates_before, rejected = t.rejected + excluded.rejected, stored = t.stored + excluded.stored;
  END IF;
  RETURN NULL;
END $$;

-- Nothing is booked between the sums and the triggers.
LOCK TABLE books IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO book_totals (account_id, places, repeats, duplicates_after, dead, expired, duplicates_before, rejected, stored)
SELECT account_id, sum(places), sum(repeats), sum(duplicates_after), sum(dead), sum(expired), sum(duplicates_before), sum(rejected), sum(stored)
FROM books GROUP BY account_id;

CREATE TRIGGER books_added AFTER INSERT ON books REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_to_book_totals();
CREATE TRIGGER books_changed AFTER UPDATE ON books REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_to_book_totals();
CREATE TRIGGER books_removed AFTER DELETE ON books REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION add_to_book_totals();
CREATE TRIGGER book_days_added AFTER INSERT ON book_days REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_to_book_totals();
CREATE TRIGGER book_days_changed AFTER UPDATE ON book_days REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_to_book_totals();

-- An erasure has removed the content of the dead letter (docs/erasure.md): no restore makes it dead again.
ALTER TABLE dead_letters ADD COLUMN erased boolean NOT NULL DEFAULT false;
UPDATE dead_letters SET erased = true WHERE note = 'erased' AND message_id = '';

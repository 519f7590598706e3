-- Messages that were planned up to then, for a name of the person, are erased; null: the profiles are not removed yet, and an audience may still be made of them.
ALTER TABLE erasures ADD COLUMN messages_until timestamptz;
UPDATE erasures SET messages_until = requested_at WHERE state IN ('removed', 'rewritten');

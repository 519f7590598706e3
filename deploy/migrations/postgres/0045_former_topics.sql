-- Topics that were replaced by a rewritten one (ops/log/rewrite): by logical name, the former
-- physical name, and the end of each partition when it was replaced. Groups that have no committed
-- offset in the new one continue from theirs in the former one: offsets are equal.
ALTER TABLE log_layout ADD COLUMN former_topics jsonb NOT NULL DEFAULT '{}';

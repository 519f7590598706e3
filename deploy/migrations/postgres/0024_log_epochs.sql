-- Epochs of the partitions of the log (platform/log/epochs.ts). A record at offset o belongs to the
-- highest epoch whose first_offset is at or below o; a partition without rows is in epoch 0. An
-- epoch begins where offsets refer to other records than before: the log went back, the topic was
-- recreated, or the topics grew.
CREATE TABLE log_epochs (
  topic text NOT NULL,
  partition integer NOT NULL,
  epoch integer NOT NULL CHECK (epoch > 0),
  first_offset bigint NOT NULL CHECK (first_offset >= 0),
  reason text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (topic, partition, epoch)
);

-- With CLICKHOUSE_SHARDS (docs/operations/shards.md), besides users.sql.

-- The same rights on the tables of a shard.
GRANT SHOW, CREATE DATABASE, CREATE TABLE, CREATE VIEW, ALTER, DROP TABLE, DROP VIEW, TRUNCATE, OPTIMIZE, SELECT, INSERT ON ravand_shard.* TO ravand_migrations;
GRANT SELECT, INSERT, ALTER DELETE ON ravand_shard.* TO ravand_services;
GRANT SELECT ON ravand_shard.* TO ravand_reports;

-- To create Distributed tables.
GRANT REMOTE ON *.* TO ravand_migrations;
-- A sink ends its inserts on every shard before it reads them back.
GRANT KILL QUERY ON *.* TO ravand_services;
-- A start compares the shards with the settings, with each user.
GRANT SELECT ON system.clusters TO ravand_reports;

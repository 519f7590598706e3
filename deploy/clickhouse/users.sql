-- The users of ClickHouse, with the least rights that suffice. `./ravand up` gives its own server
-- these users with these rights; docs/operations/connections.md says where each one is used.

-- Migrations and operators' commands (CLICKHOUSE_MIGRATION_URL): create, change and exchange tables.
CREATE USER IF NOT EXISTS ravand_migrations IDENTIFIED WITH sha256_password BY 'change-me';
GRANT SHOW, CREATE DATABASE, CREATE TABLE, CREATE VIEW, ALTER, DROP TABLE, DROP VIEW, TRUNCATE, OPTIMIZE, SELECT, INSERT, SYSTEM SYNC REPLICA ON ravand.* TO ravand_migrations;
GRANT TABLE ENGINE ON * TO ravand_migrations;
GRANT SELECT ON system.* TO ravand_migrations;
GRANT KILL QUERY ON *.* TO ravand_migrations;
-- For the table function `format`, which passes the ids of profiles.
GRANT CREATE TEMPORARY TABLE ON *.* TO ravand_migrations;

-- Services (CLICKHOUSE_URL): write what they consume, and delete what accounts keep no longer.
CREATE USER IF NOT EXISTS ravand_services IDENTIFIED WITH sha256_password BY 'change-me';
GRANT SELECT, INSERT, ALTER DELETE, SYSTEM SYNC REPLICA ON ravand.* TO ravand_services;
GRANT SELECT ON system.* TO ravand_services;
GRANT CREATE TEMPORARY TABLE ON *.* TO ravand_services;

-- Reports, audience counts and exports (CLICKHOUSE_REPORTS_URL): read.
CREATE USER IF NOT EXISTS ravand_reports IDENTIFIED WITH sha256_password BY 'change-me';
GRANT SELECT ON ravand.* TO ravand_reports;
GRANT SELECT ON system.server_settings TO ravand_reports;
GRANT SELECT ON system.processes TO ravand_reports;
-- For the cache of reports: an answer is kept until the parts of a table change.
GRANT SELECT ON system.parts TO ravand_reports;
GRANT SELECT ON system.mutations TO ravand_reports;

-- With CLICKHOUSE_CLUSTER, besides:
-- GRANT CLUSTER, REMOTE ON *.* TO ravand_migrations, ravand_services;

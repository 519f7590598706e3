/**
 * SQL condition over `events`: rows that no TTL can have deleted within a day of their reception.
 * The normaliser has counted the others as expired (ARCHITECTURE.md, G6; ingest 2.4, rule 5).
 */
export const KEPT_ROWS = 'timestamp + INTERVAL 400 DAY > received_at + INTERVAL 1 DAY';

/**
 * SQL over `events`: rows that no TTL can have dropped within a day of their reception. The others
 * are not looked for: the normaliser has counted them as expired (DESIGN.md, promise 6; ingest 2.4,
 * rule 5).
 */
export const KEPT_ROWS = 'timestamp + INTERVAL 400 DAY > received_at + INTERVAL 1 DAY';

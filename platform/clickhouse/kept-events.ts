import { MAX_RETENTION_DAYS } from '../../events/retention.ts';

/**
 * SQL condition over `events`: rows that are not older than they may be (ingest 2.4, rule 5). The
 * table drops whole parts, up to a month later, so every answer to a customer has this condition;
 * what compares stored rows with the log has not: a row that is still there is there.
 */
export const KEPT_EVENTS = `timestamp > now64(3) - INTERVAL ${MAX_RETENTION_DAYS} DAY`;

import { MAX_RETENTION_DAYS } from '../../events/retention.ts';

/** As KEPT_EVENTS, over `messages`. */
export const KEPT_MESSAGES = `planned_at > now64(3) - INTERVAL ${MAX_RETENTION_DAYS} DAY`;

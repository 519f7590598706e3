/** Longer is not believed: a sender that waits a day is dead. */
const MAX_MS = 86_400_000;

/**
 * What Retry-After asks for, seconds or a date (RFC 9110), in ms from `now` (ms since the epoch);
 * undefined for anything else.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : dateOf(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_MS);
}

/** Date.parse reads nearly everything as a date. */
function dateOf(text: string): number {
  return text.endsWith(' GMT') ? Date.parse(text) : NaN;
}

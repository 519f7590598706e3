/**
 * What becomes of a batch after an answer of the ingest host (ingest 7.5): `done`: the host has it;
 * `split`: a single item may be at fault, fewer are sent; `drop`: it is never accepted; `hold`: it
 * is never accepted, and nothing is sent for HOLD_MS; `retry`: it is sent again after `retryDelay`.
 */
export type Verdict = 'done' | 'split' | 'drop' | 'hold' | 'retry';

/** After 401, 402 and 403, ms. */
export const HOLD_MS = 300_000;
/** A day bounds what a faulty proxy may ask for, ms. */
export const LONGEST_DELAY_MS = 86_400_000;

/** @param status 0: no answer. */
export function verdictOf(status: number, items: number): Verdict {
  if (status > 199 && status < 300) return 'done';
  if (status < 400 || status > 499 || status === 429) return 'retry';
  if (status === 400 || status === 413) return items > 1 ? 'split' : 'drop';
  return status < 404 ? 'hold' : 'drop';
}

/**
 * Exponential with full jitter, and never less than the host asked for.
 * @param failures in a row, from 1
 * @param retryAfter the header: seconds or a date; null: absent
 * @returns ms
 */
export function retryDelay(failures: number, retryAfter: string | null): number {
  // 1 s, 2 s, 4 s, …, at most 5 minutes.
  const jitter = Math.random() * Math.min(300_000, 500 * 2 ** failures);
  const seconds = +(retryAfter as string);
  const asked = seconds >= 0 ? seconds * 1000 : Date.parse(retryAfter as string) - Date.now();
  return Math.max(jitter, Math.min(asked || 0, LONGEST_DELAY_MS));
}

// What becomes of a batch after an answer of the ingest host (ingest 7.5). In the bundle for
// browsers numbers are shorter.

/** The host has it. */
export const DONE = 0;
/** It is sent again after `retryDelay`. */
export const RETRY = 1;
/** A single item may be at fault: fewer are sent. */
export const SPLIT = 2;
/** It is never accepted. */
export const DROP = 3;
/** It is never accepted, and nothing is sent for HOLD_MS. */
export const HOLD = 4;
export type Verdict = typeof DONE | typeof RETRY | typeof SPLIT | typeof DROP | typeof HOLD;

/** After 401, 402 and 403, ms. */
export const HOLD_MS = 300_000;
/** A day bounds what a faulty proxy may ask for, ms. */
export const LONGEST_DELAY_MS = 86_400_000;

/** @param status 0: no answer. */
export function verdictOf(status: number, items: number): Verdict {
  if (status > 199 && status < 300) return DONE;
  if (status < 400 || status > 499 || status === 429) return RETRY;
  if (status === 400 || status === 413) return items > 1 ? SPLIT : DROP;
  return status < 404 ? HOLD : DROP;
}

/**
 * Exponential with full jitter, and never less than the host asked for.
 * @param failures in a row, from 1
 * @param retryAfter the header: seconds or a date; absent: null or undefined
 * @returns ms
 */
export function retryDelay(failures: number, retryAfter: string | null | undefined): number {
  const seconds = +(retryAfter as string);
  const asked = seconds >= 0 ? seconds * 1000 : Date.parse(retryAfter as string) - Date.now();
  return Math.max(
    // 1 s, 2 s, 4 s, …, at most 5 minutes.
    Math.random() * Math.min(300_000, 500 * 2 ** failures),
    Math.min(asked || 0, LONGEST_DELAY_MS),
  );
}

/** The result of one attempt. */
export type AttemptResult =
  /** The endpoint answered; `excerpt` is the beginning of a failure's body. */
  | { kind: 'answered'; status: number; excerpt: string }
  /** No answer: connection, TLS, DNS or timeout. */
  | { kind: 'failed'; message: string }
  /** Nothing was sent: the URL is unreadable, or the address guard refused it or a redirect. */
  | { kind: 'refused'; message: string };

/** Maximum attempts of a delivery (ingest 6.2, "Relay delivery"). */
export const MAX_ATTEMPTS = 10;
/** Maximum bytes of `error` (ingest 3: the first 500 bytes of a failure). */
export const MAX_ERROR_BYTES = 500;

const FIRST_DELAY_MS = 10_000;
const LONGEST_DELAY_MS = 3_600_000;
/**
 * With this growth the tenth attempt ends just under two hours after the first, and the last delay
 * reaches the cap: the three numbers of ingest 6.2.
 */
const GROWTH = 2.1;
/** Delays are reduced by up to a tenth, so that failed deliveries do not retry together. */
const JITTER = 0.1;

/**
 * State of a delivery after an attempt. `status` is the endpoint's, null without an answer.
 * `isExhausted`: a retryable failure, but the tenth.
 */
export type AttemptVerdict =
  | { kind: 'succeeded'; status: number }
  | { kind: 'retry'; status: number | null; error: string; delay: number }
  | { kind: 'dead'; status: number | null; error: string; isExhausted: boolean };

/**
 * Classifies an attempt (ingest 3, 6.2): 2xx succeeds; 408, 429, 5xx and no answer are retried up
 * to ten attempts; anything else fails permanently. `attempts` includes this one; `random` is in
 * [0, 1). The delay is in ms.
 */
export function judgeAttempt(
  result: AttemptResult,
  made: { attempts: number; random: number },
): AttemptVerdict {
  switch (result.kind) {
    case 'refused':
      return { kind: 'dead', status: null, error: result.message, isExhausted: false };
    case 'failed':
      return again({ status: null, error: result.message }, made);
    case 'answered': {
      const { status, excerpt } = result;
      if (status >= 200 && status < 300) return { kind: 'succeeded', status };
      const error = excerpt === '' ? `answered ${status} without a body` : excerpt;
      return isWorthRetrying(status)
        ? again({ status, error }, made)
        : { kind: 'dead', status, error, isExhausted: false };
    }
  }
}

function again(
  failure: { status: number | null; error: string },
  { attempts, random }: { attempts: number; random: number },
): AttemptVerdict {
  if (attempts >= MAX_ATTEMPTS) return { kind: 'dead', ...failure, isExhausted: true };
  return { kind: 'retry', ...failure, delay: retryDelay({ attempts, random }) };
}

export function isWorthRetrying(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status <= 599);
}

/**
 * Delay until the next attempt after `attempts` failures, ms: 10 s, then 2.1 times the previous
 * one, at most an hour, minus up to a tenth.
 */
export function retryDelay({ attempts, random }: { attempts: number; random: number }): number {
  const whole = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * GROWTH ** (attempts - 1));
  return Math.round(whole * (1 - JITTER * random));
}

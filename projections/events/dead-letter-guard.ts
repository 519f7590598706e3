import { delay } from '../../platform/backoff.ts';
import { judge, EMPTY_WINDOW, type BreakerLimits } from '../../platform/dead-letter-breaker.ts';
import type { RetryContext } from '../../platform/retry-until-aborted.ts';

/** Rows of a batch, and how many of them are refused by ClickHouse or cannot be decoded. */
export interface DeadShare {
  processed: number;
  dead: number;
}

/**
 * The circuit breaker in front of events.dead. A few refused rows pass; when most rows are refused,
 * the table or this release is broken, and the partition stops.
 */
export interface DeadLetterGuard {
  /**
   * Resolves true when the dead letters may be written. Resolves false after holding them back for
   * `retryAfter`: store the batch again, then call again. Rejects when the signal aborts.
   */
  admits(partition: number, share: DeadShare, context: RetryContext): Promise<boolean>;
  /** Whether dead letters of this share would be held back. Changes nothing. */
  refuses(share: DeadShare): boolean;
  /** Why partitions are held back now, one sentence each, for /readyz. */
  problems(): string[];
}

interface GuardOptions {
  limits: BreakerLimits;
  /** How long dead letters are held back before the same rows are retried, ms. */
  retryAfter: number;
  /** Called with the number of partitions that are held back. */
  onHeld: (partitions: number) => void;
}

/** All partitions of a process share one window of recent rows. */
export function deadLetterGuard({ limits, retryAfter, onHeld }: GuardOptions): DeadLetterGuard {
  const held = new Map<number, string>();
  let recent = EMPTY_WINDOW;
  return {
    async admits(partition, share, { log, signal }) {
      const verdict = judge(recent, share, limits);
      if (verdict.verdict === 'pass') {
        recent = verdict.state;
        return true;
      }
      const problem =
        `${Math.round(verdict.share * 100)}% of the rows of partition ${partition} would end as dead letters: nothing more of it is stored. ` +
        'Look for a changed table `events` or a normaliser of another release; DEAD_LETTER_BREAKER=100 sends them all to events.dead';
      held.set(partition, problem);
      onHeld(held.size);
      log.error({ code: 'dead_letter_breaker', retry_ms: retryAfter }, problem);
      try {
        await delay(retryAfter, signal);
      } finally {
        held.delete(partition);
        onHeld(held.size);
      }
      return false;
    },
    refuses: (share) => judge(recent, share, limits).verdict === 'stop',
    problems: () => [...held.values()],
  };
}

/** Events in the window of the breaker; above it older events count half. */
export const WINDOW_EVENTS = 10_000;

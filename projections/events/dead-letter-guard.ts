import { delay } from '../../platform/backoff.ts';
import { judge, EMPTY_WINDOW, type BreakerLimits } from '../../platform/dead-letter-breaker.ts';
import type { RetryContext } from '../../platform/retry-until-aborted.ts';

/** Rows of a batch, and how many of them ClickHouse refuses or nobody can read. */
export interface DeadShare {
  processed: number;
  dead: number;
}

/**
 * Stands before events.dead: a few refused rows pass, but when most rows are refused it is the
 * table or this release that is broken, and the sink stops.
 */
export interface DeadLetterGuard {
  /**
   * Answers true when the letters may be written; false after having held them back for a while:
   * store the batch once more, and ask again. Rejects when the signal aborts.
   */
  admits(partition: number, share: DeadShare, patience: RetryContext): Promise<boolean>;
  /** Whether letters of this share would be held back. Changes nothing. */
  refuses(share: DeadShare): boolean;
  /** Why partitions stand still now, one sentence each: what /readyz answers. */
  problems(): string[];
}

interface GuardOptions {
  limits: BreakerLimits;
  /** How long letters are held back before the same rows are tried again, ms. */
  retryAfter: number;
  /** Told how many partitions are held back. */
  onHeld: (partitions: number) => void;
}

/** Partitions of one process share what was seen lately. */
export function deadLetterGuard({ limits, retryAfter, onHeld }: GuardOptions): DeadLetterGuard {
  const held = new Map<number, string>();
  let lately = EMPTY_WINDOW;
  return {
    async admits(partition, share, { log, signal }) {
      const verdict = judge(lately, share, limits);
      if (verdict.verdict === 'pass') {
        lately = verdict.state;
        return true;
      }
      const sentence =
        `${Math.round(verdict.share * 100)}% of the rows of partition ${partition} would end as dead letters: nothing more of it is stored. ` +
        'Look for a changed table `events` or a normaliser of another release; DEAD_LETTER_BREAKER=100 sends them all to events.dead';
      held.set(partition, sentence);
      onHeld(held.size);
      log.error({ code: 'dead_letter_breaker', retry_ms: retryAfter }, sentence);
      try {
        await delay(retryAfter, signal);
      } finally {
        held.delete(partition);
        onHeld(held.size);
      }
      return false;
    },
    refuses: (share) => judge(lately, share, limits).verdict === 'stop',
    problems: () => [...held.values()],
  };
}

/** Events that the breaker remembers before earlier ones count half. */
export const BREAKER_MEMORY = 10_000;

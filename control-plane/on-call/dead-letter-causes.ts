import type { Store } from '../store.ts';

/** Dead letters of an account with one cause. */
export interface DeadLetterCause {
  /** What `./ravand dlq show` and `redrive` are given. */
  group: string;
  stage: string;
  reason: string;
  /** Accepted events in those that wait. */
  events: number;
  waiting: number;
  redriven: number;
  discarded: number;
  first: string;
  last: string;
}

const CAUSES = 100;

/** Dead letters by their cause; those that wait for a decision first. */
export function deadLetterCauses(store: Store) {
  return {
    async list(accountId: number): Promise<DeadLetterCause[]> {
      const { rows } = await store.query<
        Omit<DeadLetterCause, 'first' | 'last'> & { first: Date; last: Date }
      >(
        `SELECT fingerprint AS group, max(stage) AS stage, max(reason) AS reason,
           coalesce(sum(events) FILTER (WHERE state IN ('dead', 'redriving')), 0)::float8 AS events,
           count(*) FILTER (WHERE state IN ('dead', 'redriving'))::float8 AS waiting,
           count(*) FILTER (WHERE state = 'redriven')::float8 AS redriven,
           count(*) FILTER (WHERE state = 'discarded')::float8 AS discarded,
           min(failed_at) AS first, max(failed_at) AS last
         FROM dead_letters WHERE account_id = $1 GROUP BY fingerprint ORDER BY waiting DESC, last DESC LIMIT ${CAUSES}`,
        [accountId],
      );
      return rows.map(({ first, last, ...cause }) => ({
        ...cause,
        first: first.toISOString(),
        last: last.toISOString(),
      }));
    },
  };
}

export type DeadLetterCauses = ReturnType<typeof deadLetterCauses>;

import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { CountInMinute } from '../limits/minute-counter.ts';
import type { Admission } from '../http/admission.ts';
import { decideRate } from './decide-rate.ts';

/** Between two statements, ms: requests at a high rate share them. */
const INTERVAL_MS = 10;
const READ = { ms: 1000, waitingFor: 'the rate limit of an account' };

/** Counts a request of POST /v1/messages against the limit of its account (management 8.2). */
export type CheckRate = (accountId: number, now: number) => Promise<Admission>;

interface RateLimitOptions {
  database: Pick<Database, 'query'>;
  count: CountInMinute;
  /** API_RATE_PER_MINUTE; 0: none, for accounts without a limit of their own. */
  defaultLimit: number;
  log: Log;
}

/**
 * The limit of the account is read with each request, for concurrent ones in one statement. A
 * request whose limit or counter cannot be read passes.
 */
export function messageRate({ database, count, defaultLimit, log }: RateLimitOptions): CheckRate {
  const limits = new BatchedLookup(
    async (ids: number[]) => {
      const { rows } = await database.query<{ id: string; limit: number | null }>(
        'SELECT id, api_rate_per_minute AS limit FROM accounts WHERE id = ANY($1::bigint[])',
        [ids],
      );
      return new Map(rows.map(({ id, limit }) => [Number(id), limit ?? defaultLimit]));
    },
    { intervalMs: INTERVAL_MS },
  );
  return async (accountId, now) => {
    try {
      const limit = (await withDeadline(READ, limits.find(accountId))) ?? defaultLimit;
      if (limit === 0) return {};
      const key = rateKey(accountId, now);
      return decideRate({ limit, used: await withDeadline(READ, count(key, 1)) });
    } catch (error) {
      log.warn(
        { err: error, code: 'message_rate_unreadable', account_id: accountId },
        'the rate limit of an account cannot be read; its message is sent without it',
      );
      return {};
    }
  };
}

const MINUTE = 60_000;

function rateKey(accountId: number, now: number): string {
  return `message_rate:${accountId}:${Math.floor(now / MINUTE)}`;
}

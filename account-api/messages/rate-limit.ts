import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Caller } from '../caller.ts';
import type { CountInMinute } from '../limits/minute-counter.ts';
import type { Admission } from '../http/admission.ts';
import { decideRate } from './decide-rate.ts';

const READ = { ms: 1000, waitingFor: 'the rate limit of an account' };

/** Counts a request of POST /v1/messages against the limit of its account (management 8.2). */
export type CheckRate = (
  caller: Pick<Caller, 'accountId' | 'messageLimit'>,
  now: number,
) => Promise<Admission>;

interface RateLimitOptions {
  database: Pick<Database, 'query'>;
  count: CountInMinute;
  /** API_RATE_PER_MINUTE; 0: none, for accounts without a limit of their own. */
  defaultLimit: number;
  log: Log;
}

/**
 * The limit of the account is that read with the key of the request; without one it is read here,
 * for concurrent requests in one statement. A request whose limit or counter cannot be read passes.
 */
export function messageRate({ database, count, defaultLimit, log }: RateLimitOptions): CheckRate {
  const limits = new BatchedLookup(async (ids: number[]) => {
    const { rows } = await database.query<{ id: string; limit: number | null }>(
      'SELECT id, api_rate_per_minute AS limit FROM accounts WHERE id = ANY($1::bigint[])',
      [ids],
    );
    return new Map(rows.map(({ id, limit }) => [Number(id), limit ?? defaultLimit]));
  });
  return async ({ accountId, messageLimit }, now) => {
    try {
      const limit =
        messageLimit === undefined
          ? ((await withDeadline(READ, limits.find(accountId))) ?? defaultLimit)
          : (messageLimit ?? defaultLimit);
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

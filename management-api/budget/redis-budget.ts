import type { Redis } from 'ioredis';
import { COUNTER_SECONDS, counterKey } from './decide.ts';

/**
 * Adds units to the counter of a key in the present minute and answers what is used now. Rejects
 * when the counter store cannot be reached.
 */
export type ChargeBudget = (charge: {
  keyId: number;
  units: number;
  now: number;
}) => Promise<number>;

/** INCRBY and the expiry in one step, so that no counter is left without an end. */
const CHARGE = `local used = redis.call('INCRBY', KEYS[1], ARGV[1])
if used == tonumber(ARGV[1]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return used`;

export function redisBudget(redis: Redis): ChargeBudget {
  return async ({ keyId, units, now }) =>
    Number(await redis.eval(CHARGE, 1, counterKey({ keyId, now }), units, COUNTER_SECONDS));
}

import type { Redis } from 'ioredis';
import { COUNTER_SECONDS, counterKey } from './decide.ts';

/**
 * Adds units to the counter of a key in the current minute and returns the new value. Rejects when
 * Redis is unavailable.
 */
export type ChargeBudget = (charge: {
  keyId: number;
  units: number;
  now: number;
}) => Promise<number>;

/** INCRBY and EXPIRE in one script, so that every counter expires. */
const CHARGE = `local used = redis.call('INCRBY', KEYS[1], ARGV[1])
if used == tonumber(ARGV[1]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return used`;

export function redisBudget(redis: Redis): ChargeBudget {
  return async ({ keyId, units, now }) =>
    Number(await redis.eval(CHARGE, 1, counterKey({ keyId, now }), units, COUNTER_SECONDS));
}

import type { Redis } from 'ioredis';

/** Lifetime of a counter: its minute, and a margin for clocks that differ (management 8.1). */
const COUNTER_SECONDS = 70;

/** Adds to the counter of a key and returns its new value. Rejects when Redis is unavailable. */
export type CountInMinute = (key: string, units: number) => Promise<number>;

/** INCRBY and EXPIRE in one script, so that every counter expires. */
const COUNT = `local used = redis.call('INCRBY', KEYS[1], ARGV[1])
if used == tonumber(ARGV[1]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return used`;

/** Counters of which each belongs to one calendar minute, which is in its name. */
export function minuteCounters(redis: Redis): CountInMinute {
  return async (key, units) => Number(await redis.eval(COUNT, 1, key, units, COUNTER_SECONDS));
}

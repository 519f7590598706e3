import type { Redis } from 'ioredis';
import { GroupedCalls } from '../../platform/grouped-calls.ts';

/** Lifetime of a counter: its minute, and a margin for clocks that differ (management 8.1). */
const COUNTER_SECONDS = 70;

/** Adds to the counter of a key and returns its new value. Rejects when Redis is unavailable. */
export type CountInMinute = (key: string, units: number) => Promise<number>;

/** INCRBY and EXPIRE in one script, so that every counter expires. */
const COUNT = `local used = redis.call('INCRBY', KEYS[1], ARGV[1])
if used == tonumber(ARGV[1]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return used`;

/**
 * Counters of which each belongs to one calendar minute, which is in its name. Concurrent requests
 * of one counter are one command; each gets the value that it would have got in its turn.
 */
export function minuteCounters(redis: Pick<Redis, 'eval'>): CountInMinute {
  const add = async (key: string, units: number) =>
    Number(await redis.eval(COUNT, 1, key, units, COUNTER_SECONDS));
  const group = new GroupedCalls<Charge, number>({ run: (charges) => countAll(charges, add) });
  return (key, units) => group.call({ key, units });
}

interface Charge {
  key: string;
  units: number;
}

async function countAll(
  charges: readonly Charge[],
  add: (key: string, units: number) => Promise<number>,
): Promise<number[]> {
  const sums = new Map<string, number>();
  const untilThen = charges.map(({ key, units }) => {
    const sum = (sums.get(key) ?? 0) + units;
    sums.set(key, sum);
    return sum;
  });
  const before = new Map<string, number>();
  await Promise.all(
    [...sums].map(async ([key, sum]) => before.set(key, (await add(key, sum)) - sum)),
  );
  return charges.map(({ key }, at) => (before.get(key) ?? 0) + (untilThen[at] ?? 0));
}

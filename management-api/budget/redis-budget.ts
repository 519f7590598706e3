import { counterKey } from './decide.ts';
import type { CountInMinute } from '../../account-api/limits/minute-counter.ts';

/**
 * Adds units to the counter of a key in the current minute and returns the new value. Rejects when
 * Redis is unavailable.
 */
export type ChargeBudget = (charge: {
  keyId: number;
  units: number;
  now: number;
}) => Promise<number>;

export function redisBudget(count: CountInMinute): ChargeBudget {
  return ({ keyId, units, now }) => count(counterKey({ keyId, now }), units);
}

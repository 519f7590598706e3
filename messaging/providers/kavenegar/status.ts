import type { ProviderAnswer } from '../provider.ts';

type Refusal = Exclude<ProviderAnswer, { kind: 'accepted' }>;

const RETRY: ReadonlySet<number> = new Set([402, 409, 429, 451]);
const DEAD_ADDRESS: ReadonlySet<number> = new Set([411]);
const REJECTED: ReadonlySet<number> = new Set([
  ...[400, 406, 412, 413, 414, 417, 419, 420, 422, 424, 431, 432],
]);
const BROKEN: ReadonlyMap<number, string> = new Map([
  [401, 'credentials'],
  [403, 'credentials'],
  [407, 'credentials'],
  [416, 'credentials'],
  [418, 'credit'],
  [426, 'credentials'],
  [427, 'credentials'],
  [501, 'credentials'],
]);

/** `return.status` of an answer that is not 200 (kavenegar.com/rest.html). */
export function refusalOf(status: number, text: string): Refusal {
  const detail = `${status} ${text}`;
  if (RETRY.has(status)) return { kind: 'retry', reason: 'unavailable', detail };
  if (DEAD_ADDRESS.has(status)) return { kind: 'dead_address', reason: 'invalid_number', detail };
  if (REJECTED.has(status)) return { kind: 'rejected', reason: 'rejected_by_provider', detail };
  const broken = BROKEN.get(status);
  if (broken !== undefined) return { kind: 'broken', reason: broken, detail };
  if (status === 404) return { kind: 'broken', reason: 'wrong_url', detail };
  // A status of later versions: a repeated call sends nothing twice.
  if (status >= 500) return { kind: 'retry', reason: 'unavailable', detail };
  return { kind: 'rejected', reason: 'rejected_by_provider', detail };
}

const FAILED: ReadonlyMap<number, string> = new Map([
  [6, 'failed'],
  [11, 'not delivered'],
  [13, 'cancelled'],
  [14, 'the person blocks messages of this line'],
]);

/**
 * Why a message that was handed over before is known to have failed; undefined while it is on its
 * way or delivered.
 */
export function deliveryFailure(status: unknown): string | undefined {
  return typeof status === 'number' ? FAILED.get(status) : undefined;
}

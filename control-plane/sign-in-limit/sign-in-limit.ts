import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { EMAIL_POLICY, NETWORK_POLICY, pausesOf, type SignInLimitPolicy } from './decide.ts';
import { networkOf } from '../../platform/network/network-of.ts';

export interface SignInSubject {
  email: string;
  /** The client's address. */
  ip: string;
  /** A device that the member has signed in from; its attempts count apart from its network's. */
  device?: string | undefined;
}

/** What attempts are counted by, besides the e-mail address. */
export function originOf({ ip, device }: Omit<SignInSubject, 'email'>): string {
  return device === undefined ? networkOf(ip) : `device ${device}`;
}

/**
 * KEYS: the two hashes {n, until}. ARGV: for each its retention and number of pauses, then the
 * pauses. Uses the clock of Redis, so that all processes agree. An attempt during a pause counts,
 * which lengthens the next pause, but never this one: waiting always ends it. It creates no hash,
 * so that a network that is refused cannot fill Redis with addresses.
 */
const COUNT = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local wait = 0
for i = 1, #KEYS do
  local left = tonumber(redis.call('HGET', KEYS[i], 'until') or '0') - now
  if left > wait then wait = left end
end
local at = 1
for i = 1, #KEYS do
  local retention, pauses = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  if wait == 0 or redis.call('EXISTS', KEYS[i]) == 1 then
    local n = redis.call('HINCRBY', KEYS[i], 'n', 1)
    if wait == 0 then
      redis.call('HSET', KEYS[i], 'until', now + tonumber(ARGV[at + 1 + math.min(n, pauses)]))
    end
    redis.call('PEXPIRE', KEYS[i], retention)
  end
  at = at + 2 + pauses
end
return wait`;

/** One failure less, and no pause. */
const DISCOUNT = `for i = 1, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    if redis.call('HINCRBY', KEYS[i], 'n', -1) <= 0 then redis.call('DEL', KEYS[i]) else redis.call('HSET', KEYS[i], 'until', 0) end
  end
end
return 0`;

/** Limits sign-ins per e-mail address in a network, and per network; rejects without Redis. */
export function signInLimit(redis: Pick<Redis, 'eval' | 'del'>) {
  const policies = [EMAIL_POLICY, NETWORK_POLICY].flatMap(scriptArguments);
  return {
    /**
     * Counts an attempt before its password is checked, so that concurrent ones count too. Answers
     * how long to wait, ms; 0: the password may be checked.
     */
    countAttempt: async (subject: SignInSubject): Promise<number> =>
      Number(await redis.eval(COUNT, 2, emailKey(subject), networkKey(subject), ...policies)),
    /** After a correct password: clears its failures, and discounts this attempt of the network. */
    async reset(subject: SignInSubject): Promise<void> {
      await redis.del(emailKey(subject));
      await redis.eval(DISCOUNT, 1, networkKey(subject));
    },
    /** The password could not be checked: discounts the attempt from both. */
    async discountAttempt(subject: SignInSubject): Promise<void> {
      await redis.eval(DISCOUNT, 2, emailKey(subject), networkKey(subject));
    },
  };
}

export type SignInLimit = ReturnType<typeof signInLimit>;

function scriptArguments(policy: SignInLimitPolicy): number[] {
  const pauses = pausesOf(policy);
  return [policy.retention, pauses.length, ...pauses];
}

/** Both keys have one hash tag: a script of a Redis Cluster may use those of one slot only. */
function emailKey(subject: SignInSubject): string {
  return `{guesses}:email:${digest(`${originOf(subject)} ${subject.email}`)}`;
}

function networkKey(subject: SignInSubject): string {
  return `{guesses}:address:${digest(originOf(subject))}`;
}

/** Hashed: no personal data in Redis. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

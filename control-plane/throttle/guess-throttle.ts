import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { ADDRESS_POLICY, EMAIL_POLICY, networkOf, pausesOf, type GuessPolicy } from './decide.ts';

export interface Guess {
  email: string;
  /** The client's address. */
  ip: string;
}

/**
 * Slows guesses down, by e-mail address and by network address (docs/control-plane.md). Everything
 * rejects when Redis cannot be reached.
 */
export interface GuessThrottle {
  /**
   * Counts a guess before it is checked, so that many at once are counted too. Answers how long to
   * wait, ms; 0: it may be checked.
   */
  take(guess: Guess): Promise<number>;
  /**
   * A right password: forgets the failures of the e-mail address, and takes this guess back from
   * the network address.
   */
  succeeded(guess: Guess): Promise<void>;
  /** The guess could not be checked: takes it back from both. */
  giveBack(guess: Guess): Promise<void>;
}

/**
 * KEYS: the two hashes {n, until}. ARGV: for each its memory and number of pauses, then the pauses.
 * The clock is that of Redis, so that all processes agree. While one of them pauses, nothing is
 * counted: waiting is the way out.
 */
const TAKE = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local wait = 0
for i = 1, #KEYS do
  local left = tonumber(redis.call('HGET', KEYS[i], 'until') or '0') - now
  if left > wait then wait = left end
end
if wait > 0 then return wait end
local at = 1
for i = 1, #KEYS do
  local memory, pauses = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local n = redis.call('HINCRBY', KEYS[i], 'n', 1)
  redis.call('HSET', KEYS[i], 'until', now + tonumber(ARGV[at + 1 + math.min(n, pauses)]))
  redis.call('PEXPIRE', KEYS[i], memory)
  at = at + 2 + pauses
end
return 0`;

/** One failure less, and no pause. */
const TAKE_BACK = `for i = 1, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    if redis.call('HINCRBY', KEYS[i], 'n', -1) <= 0 then redis.call('DEL', KEYS[i]) else redis.call('HSET', KEYS[i], 'until', 0) end
  end
end
return 0`;

export function guessThrottle(redis: Pick<Redis, 'eval' | 'del'>): GuessThrottle {
  const policies = [EMAIL_POLICY, ADDRESS_POLICY].flatMap(argumentsOf);
  return {
    take: async (guess) =>
      Number(await redis.eval(TAKE, 2, emailKey(guess), addressKey(guess), ...policies)),
    async succeeded(guess) {
      await redis.del(emailKey(guess));
      await redis.eval(TAKE_BACK, 1, addressKey(guess));
    },
    async giveBack(guess) {
      await redis.eval(TAKE_BACK, 2, emailKey(guess), addressKey(guess));
    },
  };
}

function argumentsOf(policy: GuessPolicy): number[] {
  const pauses = pausesOf(policy);
  return [policy.memory, pauses.length, ...pauses];
}

/** No person's data in Redis. */
function emailKey({ email }: Guess): string {
  return `guesses:email:${createHash('sha256').update(email).digest('base64url')}`;
}

function addressKey({ ip }: Guess): string {
  return `guesses:address:${createHash('sha256').update(networkOf(ip)).digest('base64url')}`;
}

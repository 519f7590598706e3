import { createHash, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { isSessionToken } from '../../platform/sessions.ts';

/** After the last sign-in from the device, ms. */
export const DEVICE_MS = 90 * 86_400_000;
/** Of one e-mail address; a further one replaces the one that was used longest ago. */
const MAX_DEVICES = 20;

/**
 * Devices from which a member has signed in. Their attempts are counted apart from those of their
 * network, so that a stranger in the same network delays no member on a device of their own.
 * Rejects without Redis, which holds only digests.
 */
export function rememberedDevices(redis: Pick<Redis, 'zscore' | 'multi'>) {
  return {
    /** The digest of the device that shows this token; undefined: it is not remembered. */
    async find(email: string, token: string | undefined): Promise<string | undefined> {
      if (token === undefined || !isSessionToken(token)) return undefined;
      const device = digest(token);
      return (await redis.zscore(keyOf(email), device)) === null ? undefined : device;
    },
    /**
     * After a correct password. Answers the token for the device's cookie: a new one, so that a
     * token that somebody else planted is never remembered.
     * @param known the digest of the device, when it was remembered already
     * @param now ms since the epoch
     */
    async remember(email: string, known: string | undefined, now: number): Promise<string> {
      const token = randomBytes(32).toString('base64url');
      const key = keyOf(email);
      const change = redis.multi();
      if (known !== undefined) change.zrem(key, known);
      change.zadd(key, now, digest(token)).zremrangebyrank(key, 0, -MAX_DEVICES - 1);
      const results = await change.pexpire(key, DEVICE_MS).exec();
      for (const [error] of results ?? []) if (error) throw error;
      return token;
    },
  };
}

export type RememberedDevices = ReturnType<typeof rememberedDevices>;

function keyOf(email: string): string {
  return `devices:${digest(email)}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

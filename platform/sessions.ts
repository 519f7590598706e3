import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/**
 * Cookies that may carry a session, in the order in which they are looked at (management 5.2). The
 * first one is of installations behind https.
 */
export const SESSION_COOKIES = ['__Host-service_session', 'service_session'] as const;

/** 32 random bytes as base64url without padding. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export function isSessionToken(token: string): boolean {
  return TOKEN.test(token);
}

/**
 * Where Redis keeps a session: by the SHA-256 of its token, so that a dump of Redis signs nobody
 * in.
 */
export function sessionKey(token: string): string {
  return `session:${createHash('sha256').update(token).digest('base64url')}`;
}

/** Whether a token is that of a session that has not ended. Rejects when Redis cannot be asked. */
export async function isSession(redis: Pick<Redis, 'exists'>, token: string): Promise<boolean> {
  return isSessionToken(token) && (await redis.exists(sessionKey(token))) === 1;
}

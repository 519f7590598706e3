import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** Session cookies by precedence (management 5.2); https installations use the first. */
export const SESSION_COOKIES = ['__Host-service_session', 'service_session'] as const;

/** Cookies of a device that a member has signed in from, by the same rule. */
export const DEVICE_COOKIES = ['__Host-service_device', 'service_device'] as const;

/** 32 random bytes as base64url without padding. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export function isSessionToken(token: string): boolean {
  return TOKEN.test(token);
}

/** Redis key of a session: SHA-256 of its token, so a dump has no usable token. */
export function sessionKey(token: string): string {
  return `session:${createHash('sha256').update(token).digest('base64url')}`;
}

/** Whether a token belongs to a current session. Rejects when Redis does. */
export async function isSession(redis: Pick<Redis, 'exists'>, token: string): Promise<boolean> {
  return isSessionToken(token) && (await redis.exists(sessionKey(token))) === 1;
}

import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { sessionKey } from '../../platform/sessions.ts';
import { readSession, timeLeft, type Session, type SessionTimes } from './decide.ts';

const TOKEN_BYTES = 32;

/** Sessions in Redis. All methods reject when Redis does. */
export function sessionStore(
  redis: Pick<Redis, 'set' | 'get' | 'pexpire' | 'del'>,
  times: SessionTimes,
) {
  return {
    /** Starts a session and answers its token, which is not stored. */
    async begin(session: Session): Promise<string> {
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const left = timeLeft(session, { ...times, now: session.beganAt });
      await redis.set(sessionKey(token), JSON.stringify(session), 'PX', left);
      return token;
    },
    /** The session of a token, and extends it; undefined when it has expired. */
    async use(token: string, now: number): Promise<Session | undefined> {
      const key = sessionKey(token);
      const text = await redis.get(key);
      const session = text === null ? undefined : readSession(text);
      const left = session ? timeLeft(session, { ...times, now }) : 0;
      if (session && left > 0) {
        // PEXPIRE does not restore a session that was ended in between.
        return (await redis.pexpire(key, left)) === 1 ? session : undefined;
      }
      if (text !== null) await redis.del(key);
      return undefined;
    },
    async end(token: string): Promise<void> {
      await redis.del(sessionKey(token));
    },
  };
}

export type SessionStore = ReturnType<typeof sessionStore>;

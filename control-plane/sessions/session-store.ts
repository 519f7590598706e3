import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { sessionKey } from '../../platform/sessions.ts';
import { readSession, timeLeft, type Session, type SessionTimes } from './decide.ts';

const TOKEN_BYTES = 32;
/** Of one member at a time: a further one ends the oldest. */
const MAX_SESSIONS = 50;

/** A session of a member, as they see it. */
export interface ListedSession extends Session {
  /** The digest of its token, which does not open it. */
  id: string;
}

/**
 * Sessions in Redis, with an index of each member's. All methods reject when Redis does. Each
 * command has one key: on a Redis Cluster those of a member's sessions are in different slots.
 */
export function sessionStore(
  redis: Pick<Redis, 'set' | 'get' | 'pexpire' | 'del' | 'zadd' | 'zrange' | 'zrem'>,
  times: SessionTimes,
) {
  /** Ends the oldest sessions above the maximum. */
  const endOldest = async (index: string): Promise<void> => {
    const ids = await redis.zrange(index, '0', String(-MAX_SESSIONS - 1));
    if (ids.length === 0) return;
    await Promise.all(ids.map((id) => redis.del(keyOf(id))));
    await redis.zrem(index, ...ids);
  };
  return {
    /** Starts a session and answers its token, which is not stored. */
    async begin(session: Session): Promise<string> {
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const left = timeLeft(session, { ...times, now: session.beganAt });
      const index = indexOf(session.memberId);
      await redis.set(sessionKey(token), JSON.stringify(session), 'PX', left);
      await redis.zadd(index, session.beganAt, sessionId(token));
      await redis.pexpire(index, times.lifetime);
      await endOldest(index);
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
    /** The member's sessions, newest first. Sessions of earlier generations have ended already. */
    async list({
      memberId,
      generation,
    }: Pick<Session, 'memberId' | 'generation'>): Promise<ListedSession[]> {
      const index = indexOf(memberId);
      const ids = await redis.zrange(index, '0', '-1');
      if (ids.length === 0) return [];
      const texts = await Promise.all(ids.map((id) => redis.get(keyOf(id))));
      const found = ids.map((id, at) => ({ id, session: readSession(texts[at] ?? '') }));
      const ended = found.flatMap(({ id, session }) => (session ? [] : [id]));
      if (ended.length > 0) await redis.zrem(index, ...ended);
      return found
        .flatMap(({ id, session }) =>
          session?.memberId === memberId && session.generation === generation
            ? [{ id, ...session }]
            : [],
        )
        .toReversed();
    },
    /** Ends one session of the member; false: it is none of theirs. */
    async endById(memberId: number, id: string): Promise<boolean> {
      const isOwn = (await redis.zrem(indexOf(memberId), id)) === 1;
      return isOwn && (await redis.del(keyOf(id))) === 1;
    },
  };
}

export type SessionStore = ReturnType<typeof sessionStore>;

/** The part of a session's key that names it. */
export function sessionId(token: string): string {
  return sessionKey(token).slice(PREFIX.length);
}

const PREFIX = 'session:';

function keyOf(id: string): string {
  return PREFIX + id;
}

function indexOf(memberId: number): string {
  return `member-sessions:${memberId}`;
}

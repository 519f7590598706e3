import { isJsonObject } from '../../events/json.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { hashPassword, MAX_PASSWORD_BYTES } from '../members/password.ts';
import { TooBusy } from '../members/hash-queue.ts';
import type { MemberStore } from '../members/member-store.ts';
import type { Session } from '../sessions/decide.ts';
import { sessionId, type SessionStore } from '../sessions/session-store.ts';
import { originOf, type SignInSubject } from '../sign-in-limit/sign-in-limit.ts';
import { checkPassword, type SignInPorts } from './sign-in.ts';
import { startSession, type StartAttempt, type StartPorts } from './start-session.ts';

/** A request of a signed-in member about their own sessions. */
export interface OwnRequest {
  email: string;
  session: Session;
  /** Of the session. */
  token: string;
  attempt: StartAttempt;
  body: unknown;
}

export interface OwnPorts extends SignInPorts {
  members: SignInPorts['members'] & Pick<MemberStore, 'setPassword'>;
  sessions: SignInPorts['sessions'] & Pick<SessionStore, 'list' | 'endById'>;
}

/** Shorter ones are guessed; there is no other rule, so that people can use sentences. */
export const MIN_PASSWORD_LENGTH = 12;

/** POST /api/session/account: the session of this browser goes on in another account. */
export async function switchAccount(
  { email, session, attempt, body }: OwnRequest,
  ports: StartPorts,
): Promise<Answer> {
  const wanted = isJsonObject(body) ? body['account_id'] : undefined;
  if (typeof wanted !== 'number' || !Number.isSafeInteger(wanted) || wanted < 1)
    return refuse('invalid_request', { message: 'account_id must be the number of an account' });
  const { memberId: id, generation } = session;
  const started = await startSession(
    { id, email, generation },
    { attempt, accountId: wanted, ports },
  );
  if (!started.ok) return started;
  return answer(started.body, { headers: { 'set-cookie': started.cookie } });
}

/**
 * POST /api/session/password: ends all sessions of the member and starts a new one. The current
 * password is asked for, and guesses of it count as failed sign-ins.
 */
export async function changePassword(
  { email, session, attempt, body }: OwnRequest,
  ports: OwnPorts,
): Promise<Answer> {
  const read = readPasswords(body);
  if (typeof read === 'string') return refuse('invalid_request', { message: read });
  const subject: SignInSubject = { email, ip: attempt.ip };
  const wait = await ports.limit.countAttempt(subject);
  if (wait > 0) return refuse('too_many_guesses', { retryAfter: Math.ceil(wait / 1000) });
  const checked = await checkPassword({ email, password: read.current }, { subject, ports });
  if (checked === 'busy') return refuse('busy', { retryAfter: 1 });
  if (!checked) return refuse('wrong_credentials', { message: 'the current password is wrong' });
  await ports.limit.reset(subject);
  let passwordHash: string;
  try {
    passwordHash = await ports.hashes.run(originOf(subject), () => hashPassword(read.password));
  } catch (error) {
    if (error instanceof TooBusy) return refuse('busy', { retryAfter: 1 });
    throw error;
  }
  const generation = await ports.members.setPassword(checked.id, passwordHash);
  if (generation === undefined) return refuse('unauthenticated');
  const started = await startSession(
    { id: checked.id, email, generation },
    { attempt, accountId: session.accountId, ports },
  );
  if (!started.ok) return started;
  return answer(started.body, { headers: { 'set-cookie': started.cookie } });
}

/** GET /api/sessions: the member's sessions, newest first, in all their accounts. */
export async function listSessions(
  { session, token }: OwnRequest,
  { sessions }: Pick<OwnPorts, 'sessions'>,
): Promise<Answer> {
  const current = sessionId(token);
  const list = await sessions.list(session);
  return answer({
    sessions: list.map(({ id, accountId, beganAt, ip = null, agent = null }) => ({
      ...{ id, account_id: accountId, ip, user_agent: agent },
      began_at: new Date(beganAt).toISOString(),
      current: id === current,
    })),
  });
}

/** DELETE /api/sessions/{id}: 204. */
export async function endSession(
  { session, id }: Pick<OwnRequest, 'session'> & { id: string },
  { sessions }: Pick<OwnPorts, 'sessions'>,
): Promise<Answer> {
  const isEnded = await sessions.endById(session.memberId, id);
  return isEnded ? answer(undefined, { status: 204 }) : refuse('not_found');
}

function readPasswords(body: unknown): { current: string; password: string } | string {
  const { current, password } = isJsonObject(body) ? body : {};
  if (typeof current !== 'string' || current === '' || typeof password !== 'string')
    return 'the body must be a JSON object with current and password';
  if (Array.from(password).length < MIN_PASSWORD_LENGTH)
    return `the new password must have at least ${MIN_PASSWORD_LENGTH} characters`;
  if ([current, password].some((text) => Buffer.byteLength(text) > MAX_PASSWORD_BYTES))
    return `password must have at most ${MAX_PASSWORD_BYTES} bytes`;
  if (password === current) return 'the new password must be another one';
  return { current, password };
}

import type { Log } from '../../platform/log.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { readDeviceCookie, setDeviceCookie } from '../http/cookies.ts';
import { readEmail } from '../members/email.ts';
import { TooBusy, type HashQueue } from '../members/hash-queue.ts';
import type { MemberStore, StoredMember } from '../members/member-store.ts';
import { MAX_PASSWORD_BYTES, verifyPassword } from '../members/password.ts';
import { messageOf } from '../sessions/authenticate.ts';
import { StoreUnavailable } from '../store.ts';
import { DEVICE_MS, type RememberedDevices } from '../sign-in-limit/remembered-devices.ts';
import { originOf, type SignInLimit, type SignInSubject } from '../sign-in-limit/sign-in-limit.ts';
import { startSession, type StartAttempt, type StartPorts } from './start-session.ts';

export interface SignInPorts extends StartPorts {
  members: StartPorts['members'] & Pick<MemberStore, 'byEmail'>;
  limit: SignInLimit;
  devices: RememberedDevices;
  hashes: HashQueue;
  /** Hash of a random password, so that an unknown e-mail address takes as long to refuse. */
  decoy: string;
  log: Log;
  outcomes: { inc(labels: { outcome: string }): void };
}

export interface Attempt extends StartAttempt {
  body: unknown;
  trace: string;
}

interface Credentials {
  email: string;
  password: string;
  /** One of several accounts; undefined: the oldest one. */
  accountId: number | undefined;
}

/**
 * POST /api/session: 200 with the session's cookie. An unknown address and a wrong password get the
 * same answer. Rejects with StoreUnavailable.
 */
export async function signIn(attempt: Attempt, ports: SignInPorts): Promise<Answer> {
  const read = readCredentials(attempt.body);
  if (typeof read === 'string') return refuse('invalid_request', { message: read });
  const subject: SignInSubject = { email: read.email, ip: attempt.ip };
  const { limit, devices, log, outcomes } = ports;
  try {
    const shown = readDeviceCookie(attempt.cookie, ports.cookies);
    subject.device = await devices.find(read.email, shown);
    const wait = await limit.countAttempt(subject);
    if (wait > 0) {
      outcomes.inc({ outcome: 'throttled' });
      return refuse('too_many_guesses', { retryAfter: Math.ceil(wait / 1000) });
    }
  } catch (error) {
    log.warn(
      { code: 'sessions_unreadable', trace: attempt.trace },
      `nobody can sign in: Redis failed (${messageOf(error)})`,
    );
    return refuse('sessions_unavailable');
  }
  const checked = await checkPassword(read, { subject, ports });
  if (checked === 'busy') {
    outcomes.inc({ outcome: 'busy' });
    return refuse('busy', { retryAfter: 1 });
  }
  if (!checked) {
    outcomes.inc({ outcome: 'refused' });
    return refuse('wrong_credentials');
  }
  try {
    await limit.reset(subject);
    const started = await startSession(
      { ...checked, email: read.email },
      {
        ...{ attempt, accountId: read.accountId, ports },
      },
    );
    if (!started.ok) return started;
    const device = await devices.remember(read.email, subject.device, attempt.now);
    outcomes.inc({ outcome: 'signed_in' });
    const { memberId, accountId } = started;
    log.info(
      { member_id: memberId, account_id: accountId, trace: attempt.trace },
      'a member signed in',
    );
    return answer(started.body, {
      headers: {
        'set-cookie': [
          started.cookie,
          setDeviceCookie(device, { ...ports.cookies, seconds: DEVICE_MS / 1000 }),
        ],
      },
    });
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    log.warn(
      { code: 'sessions_unwritable', trace: attempt.trace },
      `nobody can sign in: Redis did not store the session (${messageOf(error)})`,
    );
    return refuse('sessions_unavailable');
  }
}

/** The member with this e-mail address and password; undefined when there is none. */
export async function checkPassword(
  { email, password }: Pick<Credentials, 'email' | 'password'>,
  { subject, ports }: { subject: SignInSubject; ports: SignInPorts },
): Promise<StoredMember | 'busy' | undefined> {
  const { members, hashes, limit, decoy } = ports;
  try {
    const member = await members.byEmail(email);
    const isRight = await hashes.run(originOf(subject), () =>
      verifyPassword(password, member?.passwordHash ?? decoy),
    );
    return isRight ? member : undefined;
  } catch (error) {
    // The client learns nothing about the password, so the attempt does not count.
    await limit.discountAttempt(subject).catch(() => undefined);
    if (error instanceof TooBusy) return 'busy';
    throw error;
  }
}

/** Reads `{email, password, account_id?}`, or answers a sentence that quotes no input. */
function readCredentials(body: unknown): Credentials | string {
  if (typeof body !== 'object' || body === null)
    return 'the body must be a JSON object with email and password';
  const { email: sent, password, account_id: accountId } = body as Record<string, unknown>;
  const email = typeof sent === 'string' ? readEmail(sent) : undefined;
  if (email === undefined) return 'email must be an e-mail address';
  if (typeof password !== 'string' || password === '') return 'password must be text';
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    return `password must have at most ${MAX_PASSWORD_BYTES} bytes`;
  if (accountId === undefined || accountId === null)
    return { email, password, accountId: undefined };
  if (typeof accountId !== 'number' || !Number.isSafeInteger(accountId) || accountId < 1)
    return 'account_id must be the number of an account, or be left out';
  return { email, password, accountId };
}

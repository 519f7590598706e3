import { grants } from '../../platform/permissions.ts';
import type { Log } from '../../platform/log.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import {
  readDeviceCookie,
  readSessionCookie,
  setDeviceCookie,
  setSessionCookie,
  type CookieRules,
} from '../http/cookies.ts';
import { readEmail } from '../members/email.ts';
import { TooBusy, type HashQueue } from '../members/hash-queue.ts';
import type { Membership, MemberStore, StoredMember } from '../members/member-store.ts';
import { MAX_PASSWORD_BYTES, verifyPassword } from '../members/password.ts';
import { isAllowedFrom, messageOf, type Caller } from '../sessions/authenticate.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import { StoreUnavailable } from '../store.ts';
import { DEVICE_MS, type RememberedDevices } from '../sign-in-limit/remembered-devices.ts';
import { originOf, type SignInLimit, type SignInSubject } from '../sign-in-limit/sign-in-limit.ts';

export interface SignInPorts {
  members: Pick<MemberStore, 'byEmail' | 'accountsOf' | 'recordSignIn'>;
  sessions: Pick<SessionStore, 'begin' | 'end'>;
  limit: SignInLimit;
  devices: RememberedDevices;
  hashes: HashQueue;
  /** Hash of a random password, so that an unknown e-mail address takes as long to refuse. */
  decoy: string;
  cookies: CookieRules;
  /** Maximum lifetime of a session, ms. */
  lifetime: number;
  log: Log;
  outcomes: { inc(labels: { outcome: string }): void };
}

export interface Attempt {
  body: unknown;
  cookie: string | undefined;
  ip: string;
  now: number;
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
  const checked = await check(read, { subject, ports });
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
    return await startSession(checked, { attempt, subject, credentials: read, ports });
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    log.warn(
      { code: 'sessions_unwritable', trace: attempt.trace },
      `nobody can sign in: Redis did not store the session (${messageOf(error)})`,
    );
    return refuse('sessions_unavailable');
  }
}

/** The answer of GET and POST /api/session. */
export function describeSession(
  { memberId, email, account }: Caller,
  accounts: readonly Membership[],
): Record<string, unknown> {
  return {
    member: { id: memberId, email },
    account: { id: account.id, name: account.name },
    role: account.role,
    permissions: grants[account.role].toSorted(),
    accounts: accounts.map(({ id, name, role }) => ({ id, name, role })),
  };
}

/** The member with this e-mail address and password; undefined when there is none. */
async function check(
  { email, password }: Credentials,
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

async function startSession(
  member: StoredMember,
  {
    attempt,
    subject,
    credentials,
    ports,
  }: { attempt: Attempt; subject: SignInSubject; credentials: Credentials; ports: SignInPorts },
): Promise<Answer> {
  const { email, accountId: wanted } = credentials;
  const { members, sessions, devices, cookies, lifetime, log, outcomes } = ports;
  const accounts = await members.accountsOf(member.id);
  const account = wanted === undefined ? accounts[0] : accounts.find(({ id }) => id === wanted);
  if (!account)
    return wanted === undefined
      ? refuse('no_account')
      : refuse('no_account', { message: `you are no member of an active account ${wanted}` });
  if (!isAllowedFrom(account, attempt.ip)) return refuse('ip_not_allowed');
  // The new session replaces the one that the request shows.
  const before = readSessionCookie(attempt.cookie, cookies);
  if (before !== undefined) await sessions.end(before);
  await members.recordSignIn({ memberId: member.id, accountId: account.id });
  const token = await sessions.begin({
    memberId: member.id,
    accountId: account.id,
    generation: member.generation,
    beganAt: attempt.now,
  });
  const device = await devices.remember(email, subject.device, attempt.now);
  outcomes.inc({ outcome: 'signed_in' });
  log.info(
    { member_id: member.id, account_id: account.id, trace: attempt.trace },
    'a member signed in',
  );
  const setCookies = [
    setSessionCookie(token, { ...cookies, seconds: Math.floor(lifetime / 1000) }),
    setDeviceCookie(device, { ...cookies, seconds: DEVICE_MS / 1000 }),
  ];
  return answer(describeSession({ memberId: member.id, email, account }, accounts), {
    headers: { 'set-cookie': setCookies },
  });
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

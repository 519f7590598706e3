import { grants } from '../../platform/permissions.ts';
import type { Refusal } from '../errors.ts';
import { readSessionCookie, setSessionCookie, type CookieRules } from '../http/cookies.ts';
import type { Membership, MemberStore } from '../members/member-store.ts';
import { isAllowedFrom, type Caller } from '../sessions/authenticate.ts';
import type { SessionStore } from '../sessions/session-store.ts';

export interface StartPorts {
  members: Pick<MemberStore, 'accountsOf' | 'recordSignIn'>;
  sessions: Pick<SessionStore, 'begin' | 'end'>;
  cookies: CookieRules;
  /** Maximum lifetime of a session, ms. */
  lifetime: number;
}

/** Where a session is asked for. */
export interface StartAttempt {
  cookie: string | undefined;
  ip: string;
  /** User-Agent. */
  agent?: string | undefined;
  now: number;
}

interface Identified {
  id: number;
  email: string;
  generation: number;
}

type Started =
  | { ok: true; memberId: number; accountId: number; body: unknown; cookie: string }
  | { ok: false; error: Refusal };

const MAX_AGENT = 200;

/**
 * Starts a session of a member whose password, or former session, is right: in the account that is
 * named, or in their oldest one. It replaces the session that the request shows.
 */
export async function startSession(
  { id, email, generation }: Identified,
  {
    attempt,
    accountId: wanted,
    ports,
  }: { attempt: StartAttempt; accountId: number | undefined; ports: StartPorts },
): Promise<Started> {
  const { members, sessions, cookies, lifetime } = ports;
  const accounts = await members.accountsOf(id);
  const account = wanted === undefined ? accounts[0] : accounts.find((one) => one.id === wanted);
  if (!account) {
    const message = `you are no member of an active account ${wanted}`;
    return {
      ok: false,
      error: { code: 'no_account', ...(wanted === undefined ? {} : { message }) },
    };
  }
  const { cookie, ip, agent, now } = attempt;
  if (!isAllowedFrom(account, ip)) return { ok: false, error: { code: 'ip_not_allowed' } };
  const before = readSessionCookie(cookie, cookies);
  if (before !== undefined) await sessions.end(before);
  await members.recordSignIn({ memberId: id, accountId: account.id });
  const token = await sessions.begin({
    ...{ memberId: id, accountId: account.id, generation, beganAt: now, ip },
    ...(agent === undefined ? {} : { agent: agent.slice(0, MAX_AGENT) }),
  });
  return {
    ok: true,
    memberId: id,
    accountId: account.id,
    body: describeSession({ memberId: id, email, account }, accounts),
    cookie: setSessionCookie(token, { ...cookies, seconds: Math.floor(lifetime / 1000) }),
  };
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
    is_operator: account.isOperator === true,
    accounts: accounts.map(({ id, name, role }) => ({ id, name, role })),
  };
}

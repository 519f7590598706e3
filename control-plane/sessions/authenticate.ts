import { addressRanges } from '../../platform/network/address-ranges.ts';
import { grants, type Permission, type Role } from '../../platform/permissions.ts';
import type { Log } from '../../platform/log.ts';
import type { Refusal } from '../errors.ts';
import { readSessionCookie, type CookieRules } from '../http/cookies.ts';
import type { Membership, MemberStore } from '../members/member-store.ts';
import type { Session } from './decide.ts';
import type { SessionStore } from './session-store.ts';

/** The signed-in member and account. */
export interface Caller {
  memberId: number;
  email: string;
  account: Membership;
}

/** Whose data a change is about, and who makes it. */
export function actorOf({ account, memberId }: Caller): { accountId: number; memberId: number } {
  return { accountId: account.id, memberId };
}

export interface SessionPorts {
  sessions: Pick<SessionStore, 'use'>;
  members: Pick<MemberStore, 'active'>;
  cookies: CookieRules;
  log: Log;
}

export type SessionResult =
  { ok: true; caller: Caller; session: Session; token: string } | { ok: false; error: Refusal };

interface SessionInput {
  cookie: string | undefined;
  /** The client's address. */
  ip: string;
  now: number;
}

/**
 * Authenticates a request by its session cookie alone: 401 without a session, 403 from an address
 * that the account does not allow, 503 when Redis is unavailable.
 */
export async function authenticate(
  { cookie, ip, now }: SessionInput,
  { sessions, members, cookies, log }: SessionPorts,
): Promise<SessionResult> {
  const token = readSessionCookie(cookie, cookies);
  if (token === undefined) return { ok: false, error: { code: 'unauthenticated' } };
  let session;
  try {
    session = await sessions.use(token, now);
  } catch (error) {
    log.warn(
      { code: 'sessions_unreadable' },
      `sessions cannot be read (${messageOf(error)}); requests are answered 503`,
    );
    return { ok: false, error: { code: 'sessions_unavailable' } };
  }
  const member = session && (await members.active(session));
  if (!session || !member) return { ok: false, error: { code: 'unauthenticated' } };
  if (!isAllowedFrom(member.account, ip)) return { ok: false, error: { code: 'ip_not_allowed' } };
  return { ok: true, caller: { memberId: session.memberId, ...member }, session, token };
}

/** Whether an account allows an address (management 5.4: the list applies to sessions too). */
export function isAllowedFrom({ ipAllow }: Pick<Membership, 'ipAllow'>, ip: string): boolean {
  return ipAllow.length === 0 || addressRanges(ipAllow).contains(ip);
}

/** 403 with `need` when a role lacks a permission. */
export function refuseLacking(role: Role, permission: Permission): Refusal | undefined {
  if (grants[role].includes(permission)) return undefined;
  return {
    code: 'forbidden',
    message: `your role ${role} lacks the permission ${permission}`,
    need: permission,
  };
}

/** An error's message alone: errors of the Redis client contain the command. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

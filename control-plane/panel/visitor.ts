import type { Membership, MemberStore } from '../members/member-store.ts';
import type { Caller, SessionResult } from '../sessions/authenticate.ts';
import { StoreUnavailable } from '../store.ts';

/** Who asks for a document. `unknown`: it cannot be known now. */
export type Visitor =
  | { kind: 'member'; caller: Caller; accounts: readonly Membership[] }
  | { kind: 'nobody' | 'unknown' };

/**
 * While Redis or PostgreSQL fails, or from an address that the account does not allow, the visitor
 * is unknown: the application asks itself who is signed in, and shows the answer.
 */
export async function visitorOf(
  identify: () => Promise<SessionResult>,
  members: Pick<MemberStore, 'accountsOf'>,
): Promise<Visitor> {
  try {
    const session = await identify();
    if (!session.ok)
      return { kind: session.error.code === 'unauthenticated' ? 'nobody' : 'unknown' };
    const { caller } = session;
    return { kind: 'member', caller, accounts: await members.accountsOf(caller.memberId) };
  } catch (error) {
    if (error instanceof StoreUnavailable) return { kind: 'unknown' };
    throw error;
  }
}

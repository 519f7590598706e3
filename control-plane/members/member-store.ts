import type { Role } from '../../platform/permissions.ts';
import type { Store } from '../store.ts';

/** A member for sign-in, by e-mail address. */
export interface StoredMember {
  id: number;
  passwordHash: string;
  generation: number;
}

export interface Membership {
  id: number;
  name: string;
  role: Role;
  /** Addresses and CIDR ranges; empty allows all. */
  ipAllow: readonly string[];
}

/** A member of an active account. */
export interface ActiveMember {
  email: string;
  account: Membership;
}

/**
 * Members in PostgreSQL, without a cache: a changed password, role or membership applies from the
 * next request.
 */
export interface MemberStore {
  byEmail(email: string): Promise<StoredMember | undefined>;
  /**
   * Undefined when the session's generation is over, the membership gone, or the account suspended.
   */
  active(session: {
    memberId: number;
    accountId: number;
    generation: number;
  }): Promise<ActiveMember | undefined>;
  /** Active accounts, oldest first. */
  accountsOf(memberId: number): Promise<readonly Membership[]>;
}

interface Columns {
  account_id: string;
  account_name: string;
  role: Role;
  ip_allow: string[];
}

const ACCOUNT = 'a.id AS account_id, a.name AS account_name, m.role, a.ip_allow';
const JOINED = "memberships m JOIN accounts a ON a.id = m.account_id AND a.status = 'active'";

export function memberStore(store: Store): MemberStore {
  return {
    async accountsOf(memberId) {
      const { rows } = await store.query<Columns>(
        `SELECT ${ACCOUNT} FROM ${JOINED} WHERE m.member_id = $1 ORDER BY a.id LIMIT 1000`,
        [memberId],
      );
      return rows.map(membershipOf);
    },
    async byEmail(email) {
      const { rows } = await store.query<{
        id: string;
        password_hash: string;
        session_generation: number;
      }>('SELECT id, password_hash, session_generation FROM members WHERE email = $1', [email]);
      const [row] = rows;
      if (!row) return undefined;
      return {
        id: Number(row.id),
        passwordHash: row.password_hash,
        generation: row.session_generation,
      };
    },
    async active({ memberId, accountId, generation }) {
      const { rows } = await store.query<Columns & { email: string }>(
        `SELECT p.email, ${ACCOUNT} FROM ${JOINED} JOIN members p ON p.id = m.member_id
         WHERE m.member_id = $1 AND m.account_id = $2 AND p.session_generation = $3`,
        [memberId, accountId, generation],
      );
      const [row] = rows;
      return row && { email: row.email, account: membershipOf(row) };
    },
  };
}

function membershipOf({ account_id, account_name, role, ip_allow }: Columns): Membership {
  return { id: Number(account_id), name: account_name, role, ipAllow: ip_allow };
}

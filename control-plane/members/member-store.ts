import type { Role } from '../../platform/permissions.ts';
import type { Session } from '../sessions/decide.ts';
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
  /** Looks after the installation: may replay and rebuild for all accounts. */
  isOperator?: boolean;
}

/** A member of an active account. */
export interface ActiveMember {
  email: string;
  account: Membership;
}

interface Columns {
  account_id: string;
  account_name: string;
  role: Role;
  ip_allow: string[];
  is_operator: boolean;
}

const ACCOUNT = 'a.id AS account_id, a.name AS account_name, m.role, a.ip_allow, p.is_operator';
const JOINED =
  "memberships m JOIN accounts a ON a.id = m.account_id AND a.status = 'active' JOIN members p ON p.id = m.member_id";

/** Members in PostgreSQL, uncached: a changed password or role applies to the next request. */
export function memberStore(store: Store) {
  return {
    /** Active accounts, oldest first. */
    async accountsOf(memberId: number): Promise<readonly Membership[]> {
      const { rows } = await store.query<Columns>(
        `SELECT ${ACCOUNT} FROM ${JOINED} WHERE m.member_id = $1 ORDER BY a.id LIMIT 1000`,
        [memberId],
      );
      return rows.map(membershipOf);
    },
    async byEmail(email: string): Promise<StoredMember | undefined> {
      const { rows } = await store.query<Omit<StoredMember, 'id'> & { id: string }>(
        'SELECT id, password_hash AS "passwordHash", session_generation AS generation FROM members WHERE email = $1',
        [email],
      );
      return rows[0] && { ...rows[0], id: Number(rows[0].id) };
    },
    /** The audit line of a sign-in; rejects before there is a session. */
    async recordSignIn({ memberId, accountId }: Pick<Session, 'memberId' | 'accountId'>) {
      await store.query(
        'INSERT INTO audit_lines (account_id, actor, action, details) VALUES ($1, $2, $3, $4)',
        [accountId, `member:${memberId}`, 'member.signed_in', '{}'],
      );
    },
    /**
     * Stores another password and ends the member's sessions, with an audit line in each of their
     * accounts; answers the generation of sessions that begin now.
     */
    async setPassword(memberId: number, passwordHash: string): Promise<number | undefined> {
      const { rows } = await store.query<{ generation: number }>(
        `WITH changed AS (
           UPDATE members SET password_hash = $2, password_changed_at = clock_timestamp(), session_generation = session_generation + 1
           WHERE id = $1 RETURNING id, session_generation
         ), lines AS (
           INSERT INTO audit_lines (account_id, actor, action, details)
           SELECT m.account_id, 'member:' || changed.id, 'member.password_changed', jsonb_build_object('member_id', changed.id)
           FROM changed JOIN memberships m ON m.member_id = changed.id
         )
         SELECT session_generation AS generation FROM changed`,
        [memberId, passwordHash],
      );
      return rows[0]?.generation;
    },
    /** Undefined when the session ended, the membership is gone, or the account is suspended. */
    async active({
      memberId,
      accountId,
      generation,
    }: Omit<Session, 'beganAt'>): Promise<ActiveMember | undefined> {
      const { rows } = await store.query<Columns & { email: string }>(
        `SELECT p.email, ${ACCOUNT} FROM ${JOINED}
         WHERE m.member_id = $1 AND m.account_id = $2 AND p.session_generation = $3`,
        [memberId, accountId, generation],
      );
      const [row] = rows;
      return row && { email: row.email, account: membershipOf(row) };
    },
  };
}

export type MemberStore = ReturnType<typeof memberStore>;

function membershipOf({ account_id, account_name, role, ...row }: Columns): Membership {
  return {
    ...{ id: Number(account_id), name: account_name, role, ipAllow: row.ip_allow },
    isOperator: row.is_operator,
  };
}

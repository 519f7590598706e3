import { auditedChange, type Queries } from '../../platform/audited-change.ts';
import type { Role } from '../../platform/permissions.ts';

/** Members of one account. */
export const MAX_MEMBERS = 1000;

/** Whose account it is, and who changes it: `member:ID`, `operator`. */
interface Author {
  accountId: number;
  actor: string;
}

export interface MemberOfAccount {
  id: number;
  email: string;
  role: Role;
  /** Of the membership. */
  created_at: string;
}

/** Memberships in PostgreSQL; a change and its audit line are one statement. */
export function membershipStore(database: Queries) {
  return {
    /** Oldest first. */
    async list(accountId: number): Promise<MemberOfAccount[]> {
      const { rows } = await database.query<{
        id: string;
        email: string;
        role: Role;
        created_at: Date;
      }>(
        `SELECT p.id, p.email, m.role, m.created_at FROM memberships m JOIN members p ON p.id = m.member_id
         WHERE m.account_id = $1 ORDER BY m.created_at, p.id LIMIT ${MAX_MEMBERS}`,
        [accountId],
      );
      return rows.map(({ id, email, role, created_at }) => ({
        ...{ id: Number(id), email, role, created_at: created_at.toISOString() },
      }));
    },
    async find(accountId: number, memberId: number): Promise<Role | undefined> {
      const { rows } = await database.query<{ role: Role }>(
        'SELECT role FROM memberships WHERE account_id = $1 AND member_id = $2',
        [accountId, memberId],
      );
      return rows[0]?.role;
    },
    /**
     * Makes a member, or adds a membership to somebody who is one elsewhere and keeps their
     * password. Undefined: they belong to the account already, or it has as many as it may.
     */
    async add(
      { accountId, actor }: Author,
      { email, role, passwordHash }: { email: string; role: Role; passwordHash: string },
    ): Promise<{ memberId: number; existed: boolean } | undefined> {
      const [row] = await auditedChange<{ member_id: string; existed: boolean }>(database, {
        steps: [
          `made AS (INSERT INTO members (email, password_hash) VALUES ($2, $3) ON CONFLICT (email) DO NOTHING RETURNING id)`,
          `person AS (SELECT id, false AS existed FROM made UNION ALL SELECT id, true FROM members WHERE email = $2)`,
          `added AS (
             INSERT INTO memberships (member_id, account_id, role) SELECT id, $1::bigint, $4::text FROM person
             WHERE (SELECT count(*) FROM memberships WHERE account_id = $1) < ${MAX_MEMBERS}
             ON CONFLICT (member_id, account_id) DO NOTHING RETURNING account_id, member_id
           )`,
        ],
        statement: `SELECT account_id, member_id, existed, jsonb_build_object('member_id', member_id) AS audit FROM added JOIN person ON person.id = member_id`,
        values: [accountId, email, passwordHash, role],
        ...{ actor, action: 'member.created', details: { role } },
      });
      return row && { memberId: Number(row.member_id), existed: row.existed };
    },
    /**
     * Changes the role and ends the person's sessions. `last_owner`: the account would be left
     * without an owner. Undefined: they do not belong to the account.
     */
    async setRole(
      { accountId, actor }: Author,
      { memberId, role }: { memberId: number; role: Role },
    ): Promise<'changed' | 'last_owner' | undefined> {
      const rows = await auditedChange(database, {
        steps: [
          OWNERS,
          `set_role AS (
             UPDATE memberships m SET role = $3::text WHERE m.account_id = $1 AND m.member_id = $2 AND ($3::text = 'owner' OR ${HAS_OWNER_LEFT})
             RETURNING m.account_id, m.member_id
           )`,
          signOut('set_role'),
        ],
        statement: `SELECT account_id, jsonb_build_object('member_id', member_id) AS audit FROM set_role`,
        values: [accountId, memberId, role],
        ...{ actor, action: 'member.role_changed', details: { role } },
      });
      return await this.outcome(rows, { accountId, memberId, done: 'changed' });
    },
    /**
     * Ends a membership, and the person's sessions. Who belongs to no account any more cannot sign
     * in, and is removed by removeStrangers.
     */
    async remove(
      { accountId, actor }: Author,
      memberId: number,
    ): Promise<'removed' | 'last_owner' | undefined> {
      const rows = await auditedChange(database, {
        steps: [
          OWNERS,
          `ended AS (DELETE FROM memberships m WHERE m.account_id = $1 AND m.member_id = $2 AND ${HAS_OWNER_LEFT} RETURNING m.account_id, m.member_id)`,
          signOut('ended'),
        ],
        statement: `SELECT account_id, jsonb_build_object('member_id', member_id) AS audit FROM ended`,
        values: [accountId, memberId],
        ...{ actor, action: 'member.removed', details: {} },
      });
      return await this.outcome(rows, { accountId, memberId, done: 'removed' });
    },
    /** Deletes a person who is a member of no account; answers whether there was one. */
    async removeStranger(memberId: number): Promise<boolean> {
      const { rows } = await database.query(
        'DELETE FROM members p WHERE id = $1 AND NOT EXISTS (SELECT FROM memberships WHERE member_id = p.id) RETURNING id',
        [memberId],
      );
      return rows.length > 0;
    },
    /** Why a change did not happen: the guard of the last owner, or nobody to change. */
    async outcome<Done extends string>(
      rows: readonly unknown[],
      { accountId, memberId, done }: { accountId: number; memberId: number; done: Done },
    ): Promise<Done | 'last_owner' | undefined> {
      if (rows.length > 0) return done;
      return (await this.find(accountId, memberId)) === undefined ? undefined : 'last_owner';
    },
  };
}

export type MembershipStore = ReturnType<typeof membershipStore>;

/** Locked, so that two owners who demote each other at the same time do not both succeed. */
const OWNERS = `owners AS (SELECT member_id FROM memberships WHERE account_id = $1 AND role = 'owner' FOR UPDATE)`;
const HAS_OWNER_LEFT = `(m.role <> 'owner' OR EXISTS (SELECT FROM owners WHERE owners.member_id <> m.member_id))`;

function signOut(changed: string): string {
  return `signed_out AS (UPDATE members SET session_generation = session_generation + 1 WHERE id IN (SELECT member_id FROM ${changed}))`;
}

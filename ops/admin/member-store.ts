import type { Role } from '../../platform/permissions.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { auditedChange } from './audited-change.ts';

type Asked = Pick<Database, 'query'>;

interface Person {
  database: Asked;
  email: string;
}

/**
 * Makes a member, or adds a membership to somebody who is one elsewhere and keeps their password.
 * `existed`: the person was known before. Undefined: they belong to the account already.
 */
export async function addMember({
  database,
  email,
  accountId,
  role,
  passwordHash,
}: Person & { accountId: number; role: Role; passwordHash: string }): Promise<
  { memberId: number; existed: boolean } | undefined
> {
  const made = await database.query(
    'INSERT INTO members (email, password_hash) VALUES ($1, $2) ON CONFLICT (email) DO NOTHING',
    [email, passwordHash],
  );
  const { rows } = await database.query<{ member_id: string }>(
    `INSERT INTO memberships (member_id, account_id, role) SELECT id, $2, $3 FROM members WHERE email = $1
     ON CONFLICT (member_id, account_id) DO NOTHING RETURNING member_id`,
    [email, accountId, role],
  );
  return rows[0] && { memberId: Number(rows[0].member_id), existed: made.rowCount === 0 };
}

/**
 * Changes the role and ends the person's sessions; answers their id. Undefined: they do not belong
 * to the account.
 */
export async function setRole({
  database,
  email,
  accountId,
  role,
}: Person & { accountId: number; role: Role }): Promise<number | undefined> {
  const { rows } = await database.query<{ id: string }>(
    `WITH changed AS (
       UPDATE memberships m SET role = $3 FROM members p WHERE p.id = m.member_id AND p.email = $1 AND m.account_id = $2 RETURNING m.member_id
     )
     UPDATE members SET session_generation = session_generation + 1 WHERE id IN (SELECT member_id FROM changed) RETURNING id`,
    [email, accountId, role],
  );
  return rows[0] && Number(rows[0].id);
}

/**
 * Stores another password and ends the person's sessions; answers their id and accounts. Undefined:
 * nobody has the address.
 */
export async function setPassword({
  database,
  email,
  passwordHash,
}: Person & { passwordHash: string }): Promise<
  { memberId: number; accountIds: number[] } | undefined
> {
  const { rows } = await database.query<{ id: string; accounts: string[] }>(
    `UPDATE members p SET password_hash = $2, password_changed_at = clock_timestamp(), session_generation = session_generation + 1
     WHERE email = $1 RETURNING id, (SELECT coalesce(array_agg(account_id::text ORDER BY account_id), '{}') FROM memberships WHERE member_id = p.id) AS accounts`,
    [email, passwordHash],
  );
  const [row] = rows;
  return row && { memberId: Number(row.id), accountIds: row.accounts.map(Number) };
}

/** With its audit line. Undefined: nobody has the address. */
export async function setOperator({
  database,
  email,
  isOperator,
}: Person & { isOperator: boolean }): Promise<number | undefined> {
  const [row] = await auditedChange<{ id: string }>(database, {
    statement: `UPDATE members SET is_operator = $2 WHERE email = $1
      RETURNING NULL::bigint AS account_id, id, jsonb_build_object('member_id', id, 'is_operator', is_operator) AS audit`,
    ...{ values: [email, isOperator], action: 'member.operator_changed', details: {} },
  });
  return row && Number(row.id);
}

/**
 * Ends a membership, and the person's sessions; who belongs to no account any more is forgotten.
 * Undefined: they do not belong to the account.
 */
export async function removeMember({
  database,
  email,
  accountId,
}: Person & { accountId: number }): Promise<{ memberId: number; forgotten: boolean } | undefined> {
  const { rows } = await database.query<{ member_id: string }>(
    'DELETE FROM memberships m USING members p WHERE p.id = m.member_id AND p.email = $1 AND m.account_id = $2 RETURNING m.member_id',
    [email, accountId],
  );
  const [row] = rows;
  if (!row) return undefined;
  await database.query(
    'UPDATE members SET session_generation = session_generation + 1 WHERE id = $1',
    [row.member_id],
  );
  const gone = await database.query(
    'DELETE FROM members p WHERE id = $1 AND NOT EXISTS (SELECT FROM memberships WHERE member_id = p.id)',
    [row.member_id],
  );
  return { memberId: Number(row.member_id), forgotten: gone.rowCount === 1 };
}

import type { DemoMember } from '../../cli/stack/ready.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import {
  generatePassword,
  hashPassword,
  verifyPassword,
} from '../../control-plane/members/password.ts';
import { addMember, setPassword } from './member-store.ts';

interface Seed {
  database: Pick<Database, 'query'>;
  accountId: number;
  /** From the first time: the database holds the hash only. */
  kept: DemoMember | undefined;
}

/** Gives the demo account an owner with the kept password, even if it was changed. */
export async function seedMember({ database, accountId, kept }: Seed): Promise<DemoMember> {
  const email = `owner-${accountId}@demo.example`;
  const { rows } = await database.query<{ password_hash: string }>(
    'SELECT p.password_hash FROM members p JOIN memberships m ON m.member_id = p.id WHERE p.email = $1 AND m.account_id = $2',
    [email, accountId],
  );
  const hash = rows[0]?.password_hash;
  if (kept?.email === email && hash !== undefined && (await verifyPassword(kept.password, hash)))
    return kept;
  const password = kept?.email === email ? kept.password : generatePassword();
  const passwordHash = await hashPassword(password);
  const made = await addMember({ database, email, accountId, role: 'owner', passwordHash });
  if (made?.existed !== false) await setPassword({ database, email, passwordHash });
  return { email, password };
}

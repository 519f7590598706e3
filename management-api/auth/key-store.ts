import { createHash } from 'node:crypto';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Resolved } from './decide.ts';
import type { Role } from './roles.ts';

/** Resolves a token to a key or a session. Rejects when the store is unavailable. */
export type ResolveToken = (token: string) => Promise<Resolved>;

interface KeyRow {
  key_id: string;
  account_id: string;
  role: Role;
  expires_at: Date;
  revoked: boolean;
  active: boolean;
  ip_allow: string[];
}

const FIND = `SELECT k.id AS key_id, k.account_id, k.role, k.expires_at, k.revoked_at IS NOT NULL AS revoked, a.status = 'active' AS active, a.ip_allow
FROM management_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key_hash = $1`;

/**
 * Looks management keys up by their SHA-256; nothing is cached, so a revocation applies at once.
 * Only a token in the format of a key is looked up; `resolveSession` resolves all others, because
 * sessions belong to the control plane.
 */
export function keyStore(options: {
  database: Database;
  resolveSession?: ResolveToken;
}): ResolveToken {
  return async (token) => {
    if (!/^sk_svc_[A-Za-z0-9_-]{43}$/.test(token))
      return (await options.resolveSession?.(token)) ?? { kind: 'unknown' };
    const { rows } = await options.database.query<KeyRow>(FIND, [
      createHash('sha256').update(token).digest(),
    ]);
    const row = rows[0];
    if (!row) return { kind: 'unknown' };
    return {
      kind: 'key',
      key: {
        keyId: Number(row.key_id),
        accountId: Number(row.account_id),
        role: row.role,
        expiresAt: row.expires_at.getTime(),
        revoked: row.revoked,
        accountActive: row.active,
        ipAllow: row.ip_allow,
      },
    };
  };
}

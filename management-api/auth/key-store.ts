import { hash } from 'node:crypto';
import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { RecentSet } from '../../platform/recent-set.ts';
import type { Resolved, StoredKey } from './decide.ts';
import type { Role } from './roles.ts';

/** Resolves a token to a key or a session. Rejects when the store is unavailable. */
export type ResolveToken = (token: string) => Promise<Resolved>;

interface KeyRow {
  hash: string;
  key_id: string;
  account_id: string;
  role: Role;
  expires_at: Date;
  revoked: boolean;
  active: boolean;
  ip_allow: string[];
  message_limit: number | null;
}

const FIND = `SELECT encode(k.key_hash, 'hex') AS hash, k.id AS key_id, k.account_id, k.role, k.expires_at, k.revoked_at IS NOT NULL AS revoked, a.status = 'active' AS active, a.ip_allow, a.api_rate_per_minute AS message_limit
FROM management_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key_hash = ANY($1::bytea[])`;

/** How long a key that does not exist is not looked up again; a key is created with a new text. */
const UNKNOWN_MS = 10_000;
const CAPACITY = 100_000;
/**
 * Between two look-ups of keys that existed before, ms: requests at a high rate share them, and go
 * on together, so that they share later statements and jobs, too.
 */
const INTERVAL_MS = 35;

interface KeyStoreOptions {
  database: Pick<Database, 'query'>;
  resolveSession?: ResolveToken;
  /** Monotonic, ms. */
  now: () => number;
}

/**
 * Looks management keys up by their SHA-256. What a key may do is never cached, so a revocation
 * applies at once; concurrent requests share a look-up. Anybody can present keys that do not exist:
 * they are remembered for a moment by their digest, and looked up apart from keys that existed
 * before, which they cannot delay. Only a token in the format of a key is looked up;
 * `resolveSession` resolves all others, because sessions belong to the control plane.
 */
export function keyStore({ database, resolveSession, now }: KeyStoreOptions): ResolveToken {
  const find = async (digests: readonly string[]) => {
    const { rows } = await database.query<KeyRow>(FIND, [
      digests.map((digest) => Buffer.from(digest, 'hex')),
    ]);
    return new Map(rows.map((row) => [row.hash, keyOf(row)]));
  };
  const unknown = new RecentSet({ capacity: CAPACITY, keepFor: UNKNOWN_MS });
  const seen = new BoundedMap<string, true>(CAPACITY);
  const [firstLookup, laterLookup] = [
    new BatchedLookup<string, StoredKey>(find),
    new BatchedLookup<string, StoredKey>(find, { intervalMs: INTERVAL_MS }),
  ];
  return async (token) => {
    if (!/^sk_svc_[A-Za-z0-9_-]{43}$/.test(token))
      return (await resolveSession?.(token)) ?? { kind: 'unknown' };
    const digest = hash('sha256', token, 'hex');
    if (unknown.has(digest, now())) return { kind: 'unknown' };
    const key = await (seen.get(digest) ? laterLookup : firstLookup).find(digest);
    if (key) {
      seen.set(digest, true);
      return { kind: 'key', key };
    }
    seen.delete(digest);
    unknown.add(digest, now());
    return { kind: 'unknown' };
  };
}

function keyOf(row: KeyRow): StoredKey {
  return {
    keyId: Number(row.key_id),
    accountId: Number(row.account_id),
    role: row.role,
    expiresAt: row.expires_at.getTime(),
    revoked: row.revoked,
    accountActive: row.active,
    ipAllow: row.ip_allow,
    messageLimit: row.message_limit,
  };
}

import { auditedChange } from '../../platform/audited-change.ts';
import type { Role } from '../../platform/permissions.ts';
import type { Store } from '../store.ts';

/** Keys of one account, revoked ones included: nothing removes them. */
export const MAX_KEYS = 500;

export interface WriteKeyRow {
  id: number;
  app: string;
  environment: string;
  created_at: string;
  revoked_at: string | null;
}

export interface ManagementKeyRow {
  id: number;
  role: Role;
  created_at: string;
  expires_at: string;
  revoked_at: string | null;
}

interface Author {
  accountId: number;
  memberId: number;
}

/** `write_keys` or `management_keys`. */
export type KeyKind = 'write' | 'management';

const TABLE: Readonly<Record<KeyKind, string>> = {
  write: 'write_keys',
  management: 'management_keys',
};

/** Keys of an account: only their hashes. A change and its audit line are one statement. */
export function keyStore(store: Store) {
  return {
    /** Newest first. */
    async list(
      accountId: number,
    ): Promise<{ write: WriteKeyRow[]; management: ManagementKeyRow[] }> {
      const write = await store.query<Times & { id: string; app: string; environment: string }>(
        `SELECT k.id, a.name AS app, k.environment, k.created_at, k.revoked_at FROM write_keys k JOIN apps a ON a.id = k.app_id
         WHERE k.account_id = $1 ORDER BY k.id DESC LIMIT ${MAX_KEYS}`,
        [accountId],
      );
      const management = await store.query<Times & { id: string; role: Role; expires_at: Date }>(
        `SELECT id, role, created_at, expires_at, revoked_at FROM management_keys WHERE account_id = $1 ORDER BY id DESC LIMIT ${MAX_KEYS}`,
        [accountId],
      );
      return {
        write: write.rows.map(({ id, app, environment, ...times }) => ({
          ...{ id: Number(id), app, environment, ...timesOf(times) },
        })),
        management: management.rows.map(({ id, role, expires_at, ...times }) => ({
          ...{ id: Number(id), role, expires_at: expires_at.toISOString(), ...timesOf(times) },
        })),
      };
    },
    /** A key of an app, which is made when there is none of that name. Undefined: too many. */
    async createWrite(
      { accountId, memberId }: Author,
      { app, environment, hash }: { app: string; environment: string; hash: Buffer },
    ): Promise<number | undefined> {
      const [row] = await auditedChange<{ id: string }>(store, {
        steps: [
          `app AS (
             INSERT INTO apps (account_id, name) SELECT $1::bigint, $2::text WHERE ${roomFor('write')}
             ON CONFLICT (account_id, name) DO UPDATE SET name = excluded.name RETURNING id
           )`,
        ],
        statement: `INSERT INTO write_keys (account_id, app_id, environment, key_hash) SELECT $1::bigint, app.id, $3::text, $4::bytea FROM app
          RETURNING account_id, id, jsonb_build_object('write_key_id', id, 'app_id', app_id) AS audit`,
        values: [accountId, app, environment, hash],
        ...{ actor: `member:${memberId}`, action: 'write_key.created', details: { environment } },
      });
      return row && Number(row.id);
    },
    /** Undefined: too many. */
    async createManagement(
      { accountId, memberId }: Author,
      { role, expiresAt, hash }: { role: Role; expiresAt: Date; hash: Buffer },
    ): Promise<number | undefined> {
      const [row] = await auditedChange<{ id: string }>(store, {
        statement: `INSERT INTO management_keys (account_id, role, key_hash, expires_at) SELECT $1::bigint, $2::text, $3::bytea, $4::timestamptz WHERE ${roomFor('management')}
          RETURNING account_id, id, jsonb_build_object('management_key_id', id) AS audit`,
        values: [accountId, role, hash, expiresAt],
        ...{ actor: `member:${memberId}`, action: 'management_key.created' },
        details: { role, expires_at: expiresAt.toISOString() },
      });
      return row && Number(row.id);
    },
    /** A key that is revoked already keeps its time. False: the account has no such key. */
    async revoke(
      { accountId, memberId }: Author,
      { kind, id }: { kind: KeyKind; id: number },
    ): Promise<boolean> {
      const rows = await auditedChange(store, {
        statement: `UPDATE ${TABLE[kind]} SET revoked_at = coalesce(revoked_at, now()) WHERE account_id = $1 AND id = $2
          RETURNING account_id, jsonb_build_object('${kind}_key_id', id) AS audit`,
        values: [accountId, id],
        ...{ actor: `member:${memberId}`, action: `${kind}_key.revoked`, details: {} },
      });
      return rows.length > 0;
    },
  };
}

export type KeyStore = ReturnType<typeof keyStore>;

/** Concurrent requests see the same count: an account may exceed it by what they store. */
function roomFor(kind: KeyKind): string {
  return `(SELECT count(*) FROM ${TABLE[kind]} WHERE account_id = $1) < ${MAX_KEYS}`;
}

interface Times {
  created_at: Date;
  revoked_at: Date | null;
}

function timesOf({ created_at, revoked_at }: Times) {
  return {
    created_at: created_at.toISOString(),
    revoked_at: revoked_at?.toISOString() ?? null,
  };
}

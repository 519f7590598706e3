import type { DomainError } from '../../account-api/errors/domain-error.ts';
import type { Credential } from './credential.ts';
import type { Caller } from '../../account-api/caller.ts';
import { effectivePermissions, type Permission, type Role } from './roles.ts';

/** A management key as it is stored, with what its account says about access. */
export interface StoredKey {
  keyId: number;
  accountId: number;
  role: Role;
  /** ms since the epoch */
  expiresAt: number;
  revoked: boolean;
  accountActive: boolean;
  /** Addresses and CIDR ranges; empty allows all. */
  ipAllow: readonly string[];
  /** Messages a minute that the account may send; null: as many as any account. */
  messageLimit: number | null;
}

/**
 * What a credential resolves to. Nothing issues staff and impersonation credentials yet.
 */
export type Resolved =
  | { kind: 'unknown' }
  | { kind: 'key'; key: StoredKey }
  | { kind: 'session' }
  | { kind: 'staff' }
  | { kind: 'impersonation'; readOnly: boolean };

/** The key that sends the request. */
export interface KeyCaller extends Caller {
  keyId: number;
}

export type Admission =
  { ok: true; caller: KeyCaller; ipAllow: readonly string[] } | { ok: false; error: DomainError };

/**
 * Errors that need no lookup: no credential, a write key, recognised by its prefix alone
 * (management 5.3), or a management key in a cookie. Browsers send cookies by themselves, so a
 * cookie can only tell that a session was presented (management 5.2).
 */
export function rejectBeforeLookup(credential: Credential | undefined): DomainError | undefined {
  if (!credential) return { code: 'unauthenticated' };
  const { source, token } = credential;
  if (token.startsWith('wk_')) return { code: 'write_key_rejected' };
  return source === 'cookie' && token.startsWith('sk_') ? { code: 'unauthenticated' } : undefined;
}

/**
 * Admits or rejects a resolved credential (management 5.3). A revoked key and a suspended account
 * answer as an unknown key does; expiry shows only on a key that would work otherwise.
 */
export function admit(resolved: Resolved, now: number): Admission {
  switch (resolved.kind) {
    case 'unknown':
      return rejected('unauthenticated');
    case 'session':
      return rejected('api_key_required');
    case 'staff':
      return rejected('wrong_surface');
    case 'impersonation':
      return rejected(resolved.readOnly ? 'impersonation_read_only' : 'impersonation_forbidden');
    case 'key': {
      const { key } = resolved;
      if (key.revoked || !key.accountActive) return rejected('unauthenticated');
      if (key.expiresAt <= now) return rejected('key_expired');
      const caller = {
        keyId: key.keyId,
        accountId: key.accountId,
        role: key.role,
        permissions: effectivePermissions(key.role),
        actor: `key:${key.keyId}`,
        messageLimit: key.messageLimit,
      };
      return { ok: true, caller, ipAllow: key.ipAllow };
    }
  }
}

/** 403 with `need` when the caller lacks a permission (management 5.4). */
export function rejectWithoutPermission(
  caller: Caller,
  permission: Permission | undefined,
): DomainError | undefined {
  if (permission === undefined || caller.permissions.includes(permission)) return undefined;
  return {
    code: 'forbidden',
    message: `this key's role lacks the permission ${permission}; see GET /v1/whoami`,
    need: permission,
  };
}

function rejected(code: DomainError['code']): Admission {
  return { ok: false, error: { code } };
}

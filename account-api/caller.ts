import type { Permission, Role } from '../platform/permissions.ts';

/** Who sends a request: a management key, or a member who is signed in to the panel. */
export interface Caller {
  accountId: number;
  role: Role;
  permissions: readonly Permission[];
  /** Of audit lines: `key:ID` or `member:ID`. */
  actor: string;
  /** Messages a minute that the account may send; null: as many as any; absent: not read yet. */
  messageLimit?: number | null;
}

import type { Role } from '../../platform/permissions.ts';

/** Roles that a key can have: owner is refused (management 5). */
export const KEY_ROLES = [
  ...(['admin', 'marketer', 'analyst', 'viewer', 'approver', 'finance'] as const),
] satisfies Role[];
export type KeyRole = (typeof KEY_ROLES)[number];

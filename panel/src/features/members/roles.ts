import type { Role } from '../../../../platform/permissions.ts';

export type { Role } from '../../../../platform/permissions.ts';

/** Roles in the order in which they are offered. */
export const roles = [
  ...(['viewer', 'analyst', 'marketer', 'approver', 'finance', 'admin', 'owner'] as const),
] satisfies Role[];

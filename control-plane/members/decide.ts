import { grants, type Role } from '../../platform/permissions.ts';

/** Whether a role has no permission that the other lacks. */
export function isWithin(role: Role, other: Role): boolean {
  return grants[role].every((permission) => grants[other].includes(permission));
}

/** A change of a membership: from a role, to one; undefined: it begins, or ends. */
export interface MembershipChange {
  from: Role | undefined;
  to: Role | undefined;
  /** The role of who makes it. */
  by: Role;
  /** Who makes it is the member themselves. */
  isOwn: boolean;
}

/**
 * Why a member may not make this change; undefined: they may. Nobody gives or takes permissions
 * that they do not have, and nobody changes their own role: an account keeps who can undo it.
 */
export function refuseChange({ from, to, by, isOwn }: MembershipChange): string | undefined {
  if (isOwn) return 'you cannot change or end your own membership: ask another admin or owner';
  const beyond = [from, to].find((role) => role !== undefined && !isWithin(role, by));
  return beyond === undefined
    ? undefined
    : `the role ${beyond} has permissions that your role ${by} lacks: ask an owner`;
}

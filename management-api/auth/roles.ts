import { grants, OWNER_ONLY, type Permission, type Role } from '../../platform/permissions.ts';

export { permissions, roles, type Permission, type Role } from '../../platform/permissions.ts';

/**
 * What a key of this role may do, sorted. Scopes are never written, so a key holds its whole role,
 * less what no key can hold.
 */
export function effectivePermissions(role: Role): readonly Permission[] {
  return grants[role].filter((permission) => !OWNER_ONLY.includes(permission)).toSorted();
}

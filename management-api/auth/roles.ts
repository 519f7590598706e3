import { grants, OWNER_ONLY, type Permission, type Role } from '../../platform/permissions.ts';

export { permissions, roles, type Permission, type Role } from '../../platform/permissions.ts';

/**
 * The permissions of a key with this role, sorted. Keys have no scopes: a key has all permissions
 * of its role except those of the owner.
 */
export function effectivePermissions(role: Role): readonly Permission[] {
  return grants[role].filter((permission) => !OWNER_ONLY.includes(permission)).toSorted();
}

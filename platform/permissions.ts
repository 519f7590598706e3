/**
 * The 28 permissions (management 2.7), for keys and members alike. This table is their only source.
 */
export const permissions = [
  'analytics.read',
  'apikey.read',
  'apikey.write',
  'audit.read',
  'billing.read',
  'billing.write',
  'campaign.approve',
  'campaign.read',
  'campaign.send',
  'campaign.write',
  'data.export',
  'event.read',
  'journey.publish',
  'journey.read',
  'journey.write',
  'member.read',
  'member.write',
  'profile.read',
  'profile.write',
  'segment.delete',
  'segment.read',
  'segment.write',
  'settings.read',
  'settings.write',
  'template.read',
  'template.write',
  'tenant.delete',
  'tenant.transfer',
] as const;

export type Permission = (typeof permissions)[number];

export const roles = [
  'owner',
  'admin',
  'marketer',
  'analyst',
  'viewer',
  'approver',
  'finance',
] as const;
export type Role = (typeof roles)[number];

/** Only the owner has them, and never through a key (management 2.7). */
export const OWNER_ONLY: readonly Permission[] = ['tenant.delete', 'tenant.transfer'];

/**
 * Permissions of each role; no role inherits from another (management 2.7). Where that section
 * names no permission, the narrower interpretation applies.
 */
export const grants: Readonly<Record<Role, readonly Permission[]>> = {
  owner: permissions,
  admin: permissions.filter((permission) => !OWNER_ONLY.includes(permission)),
  marketer: [
    'analytics.read',
    'campaign.read',
    'campaign.send',
    'campaign.write',
    'data.export',
    'event.read',
    'journey.publish',
    'journey.read',
    'journey.write',
    'profile.read',
    'profile.write',
    'segment.delete',
    'segment.read',
    'segment.write',
    'template.read',
    'template.write',
  ],
  analyst: [
    'analytics.read',
    'audit.read',
    'campaign.read',
    'data.export',
    'event.read',
    'journey.read',
    'profile.read',
    'segment.read',
    'template.read',
  ],
  viewer: [
    'analytics.read',
    'campaign.read',
    'event.read',
    'journey.read',
    'segment.read',
    'template.read',
  ],
  approver: [
    'analytics.read',
    'campaign.approve',
    'campaign.read',
    'event.read',
    'journey.read',
    'segment.read',
    'template.read',
  ],
  finance: ['billing.read', 'billing.write'],
};

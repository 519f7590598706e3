/** Every answer depends on this group on events.raw. */
export const NORMALISER_GROUP = 'normaliser';

/**
 * The projections an answer can read, and the consumer group on events.normalised that writes each.
 */
export const GROUP_OF = {
  events: 'events-sink',
  identities: 'identities-sink',
  profiles: 'profiles-sink',
} as const;

export type Projection = keyof typeof GROUP_OF;

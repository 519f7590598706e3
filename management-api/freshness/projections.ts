/** Every answer waits for this group on events.raw. */
export const NORMALISER_GROUP = 'normaliser';

/**
 * What an answer can be computed from, and the consumer group on events.normalised that writes it.
 */
export const GROUP_OF = {
  events: 'events-sink',
  identities: 'identities-sink',
  profiles: 'profiles-sink',
} as const;

export type Projection = keyof typeof GROUP_OF;

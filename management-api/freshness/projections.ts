import { GROUP } from '../../schemas/topology.ts';

/** Every answer depends on this group on events.raw. */
export const NORMALISER_GROUP = GROUP.normaliser;

/**
 * The projections an answer can read, and the consumer group on events.normalised that writes each.
 */
export const GROUP_OF = {
  events: GROUP.events,
  identities: GROUP.identities,
  profiles: GROUP.profiles,
} as const;

export type Projection = keyof typeof GROUP_OF;

import { GROUP, TOPIC, type Topic } from '../../schemas/topology.ts';

/** Every answer about events depends on this group on events.raw. */
export const NORMALISER_GROUP = GROUP.normaliser;

/** The projections that somebody reads: which consumer group writes each, and from what. */
const READERS = {
  events: { topic: TOPIC.normalised, group: GROUP.events },
  identities: { topic: TOPIC.normalised, group: GROUP.identities },
  profiles: { topic: TOPIC.normalised, group: GROUP.profiles },
  addresses: { topic: TOPIC.channelCommands, group: GROUP.addresses },
} as const;

export type Projection = keyof typeof READERS;

/** The groups that stand between what was accepted and these projections. */
export function groupsOf(projections: readonly Projection[]): string[] {
  return [NORMALISER_GROUP, ...projections.map((projection) => READERS[projection].group)];
}

/** A topic, and the groups on it. */
export interface TopicReaders {
  topic: Topic;
  groups: readonly string[];
}

/** The topics that these projections depend on, in the direction of the events. */
export function hopsOf(projections: readonly Projection[]): TopicReaders[] {
  const rows = projections.map((projection) => READERS[projection]);
  const byTopic = Map.groupBy(rows, ({ topic }) => topic);
  return [
    { topic: TOPIC.raw, groups: [NORMALISER_GROUP] },
    ...[...byTopic].map(([topic, readers]) => ({
      topic,
      groups: readers.map(({ group }) => group),
    })),
  ];
}

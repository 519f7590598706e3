import { READER as METERING } from '../../pipeline/metering/write-counts.ts';
import { COUNTED_TOPICS } from '../../pipeline/metering/counting-task.ts';

/** A reader of a topic. */
export interface Reader {
  group: string;
  topic: string;
}

/**
 * Every reader that the stack has, in the direction of the events. Groups that Kafka knows beside
 * these (a replay's own) are found by asking.
 */
export const READERS: readonly Reader[] = [
  { group: 'normaliser', topic: 'events.raw' },
  { group: 'events-sink', topic: 'events.normalised' },
  { group: 'profiles-sink', topic: 'events.normalised' },
  { group: 'identities-sink', topic: 'events.normalised' },
  { group: 'catalogue-sink', topic: 'events.normalised' },
  { group: 'relays', topic: 'events.normalised' },
  { group: 'identities-commands', topic: 'identity.commands' },
  { group: 'quality-sink', topic: 'ingest.outcomes' },
  ...Object.keys(COUNTED_TOPICS).map((topic) => ({ group: meteringGroup(topic), topic })),
];

/**
 * Metering counts with its position in PostgreSQL (log_positions): what it commits in Kafka is for
 * operators only.
 */
export function meteringGroup(topic: string): string {
  return `${METERING}.${topic}`;
}

/** The name under which metering keeps its positions. */
export const METERING_READER = METERING;

import { READER as METERING } from '../../pipeline/metering/write-counts.ts';
import { COUNTED_TOPICS } from '../../pipeline/metering/counting-task.ts';

/** A consumer group and a topic that it reads. */
export interface Reader {
  group: string;
  topic: string;
}

/**
 * Every reader of the stack, in the direction of the events. Kafka is asked for other groups.
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
 * Metering keeps its position in PostgreSQL (log_positions); its commits in Kafka serve operators
 * only.
 */
export function meteringGroup(topic: string): string {
  return `${METERING}.${topic}`;
}

/** Reader name of metering in log_positions. */
export const METERING_READER = METERING;

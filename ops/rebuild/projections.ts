import { PROJECTIONS, TOPIC, type ProjectionName, type Topic } from '../../schemas/topology.ts';

interface Projection {
  /** The live table. */
  table: string;
  /** The service that writes it, and its consumer group. */
  service: string;
  group: string;
  /** The log that a rebuild reads. */
  topic: Topic;
  /** It is not made of events: a rebuild reads this topic alone, whatever --source says. */
  isOfOwnTopic: boolean;
  /**
   * Days that the table keeps; undefined: unlimited, so the log must reach back to its beginning.
   */
  keepsDays: number | undefined;
}

/** TTL drops whole parts late, and days begin in Tehran. */
const MARGIN_DAYS = 1;

export const PROJECTION: Readonly<Record<ProjectionName, Projection>> = {
  events: projection('events'),
  profiles: projection('profiles'),
  identities: projection('identities'),
  catalogue: projection('catalogue'),
  quality: projection('quality'),
  messages: projection('messages'),
};

/** The log that a rebuild reads. */
export function sourceTopic({
  projection: name,
  source,
}: {
  projection: ProjectionName;
  source: 'raw' | 'normalised';
}): Topic {
  const { isOfOwnTopic, topic } = PROJECTION[name];
  return isOfOwnTopic ? topic : source === 'raw' ? TOPIC.raw : TOPIC.normalised;
}

function projection(name: ProjectionName): Projection {
  const { table, service, group, topic, ttlDays } = PROJECTIONS[name];
  return {
    table,
    service,
    group,
    topic: topic === TOPIC.normalised ? TOPIC.raw : topic,
    isOfOwnTopic: topic !== TOPIC.normalised,
    keepsDays: ttlDays === undefined ? undefined : ttlDays + MARGIN_DAYS,
  };
}

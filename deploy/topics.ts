import type { Admin } from 'kafkajs';

export interface TopicPlan {
  topic: string;
  partitions: number;
  /** How long records are kept, ms; 0 keeps them for ever. */
  retention: number;
  config: Record<string, string>;
}

interface TopicChoices {
  EVENTS_PARTITIONS: number;
  RAW_RETENTION: number;
  NORMALISED_RETENTION: number;
}

/** Largest record that the log takes: a request of MAX_BODY_BYTES fits with room. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;

const APPEND_TIME = {
  'message.timestamp.type': 'LogAppendTime',
  'max.message.bytes': String(MAX_RECORD_BYTES),
};
const YEAR = 365 * 86_400_000;

/**
 * Every topic of Ravand. events.raw and events.normalised have the same fixed partition count: raw
 * partition p goes to normalised partition p.
 */
export function plannedTopics(choices: TopicChoices): TopicPlan[] {
  return [
    {
      topic: 'events.raw',
      partitions: choices.EVENTS_PARTITIONS,
      retention: choices.RAW_RETENTION,
      config: APPEND_TIME,
    },
    {
      topic: 'events.normalised',
      partitions: choices.EVENTS_PARTITIONS,
      retention: choices.NORMALISED_RETENTION,
      config: APPEND_TIME,
    },
    { topic: 'events.dead', partitions: 1, retention: YEAR, config: APPEND_TIME },
    {
      topic: 'events.verdicts',
      partitions: choices.EVENTS_PARTITIONS,
      retention: choices.NORMALISED_RETENTION,
      config: APPEND_TIME,
    },
    // What operators decided about names (projections/identities): as lasting as the events that it
    // is about.
    { topic: 'identity.commands', partitions: 1, retention: 0, config: APPEND_TIME },
    {
      topic: 'ingest.outcomes',
      partitions: choices.EVENTS_PARTITIONS,
      retention: choices.NORMALISED_RETENTION,
      config: APPEND_TIME,
    },
  ];
}

/**
 * Creates the topics that are missing; running it again changes nothing. A topic that exists keeps
 * its partitions: their count is fixed, because it decides where a person's events lie. Answers the
 * names that were created.
 */
export async function ensureTopics(options: {
  admin: Admin;
  plans: readonly TopicPlan[];
  replication: number;
  minIsr: number;
}): Promise<string[]> {
  const existing = new Set(await options.admin.listTopics());
  const missing = options.plans.filter((plan) => !existing.has(plan.topic));
  if (missing.length === 0) return [];
  await options.admin.createTopics({
    waitForLeaders: true,
    timeout: 20_000,
    topics: missing.map((plan) => ({
      topic: plan.topic,
      numPartitions: plan.partitions,
      replicationFactor: options.replication,
      configEntries: Object.entries({
        ...plan.config,
        'retention.ms': plan.retention === 0 ? '-1' : String(plan.retention),
        'min.insync.replicas': String(options.minIsr),
      }).map(([name, value]) => ({ name, value })),
    })),
  });
  return missing.map((plan) => plan.topic);
}

import type { Admin } from 'kafkajs';
import { TOPICS } from '../schemas/topology.ts';

export interface TopicPlan {
  topic: string;
  partitions: number;
  /** How long records are kept, ms; 0 keeps them for ever. */
  retention: number;
  config: Record<string, string>;
}

type TopicChoices = Record<'EVENTS_PARTITIONS' | 'RAW_RETENTION' | 'NORMALISED_RETENTION', number>;

/** Largest record of the log: larger than any request of MAX_BODY_BYTES. */
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** Records leave a topic by age only, whatever the defaults of the broker. */
const CONFIG = {
  'message.timestamp.type': 'LogAppendTime',
  'max.message.bytes': String(MAX_RECORD_BYTES),
  'cleanup.policy': 'delete',
  'retention.bytes': '-1',
};

/** Every topic of the topology with the values of its settings. */
export function plannedTopics(choices: TopicChoices): TopicPlan[] {
  return TOPICS.map(({ topic, partitions, retention }) => ({
    topic,
    partitions: typeof partitions === 'number' ? partitions : choices[partitions],
    retention: typeof retention === 'number' ? retention : choices[retention],
    config: CONFIG,
  }));
}

/**
 * Creates the topics that are missing; repeating it changes nothing. An existing topic keeps its
 * number of partitions, because that number decides the partition of a person. Returns the names
 * that were created.
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

import * as setting from './setting-kinds.ts';
import { defineSettings } from './settings.ts';

export const processSettings = defineSettings({
  LOG_LEVEL: setting.oneOf(['error', 'warn', 'info', 'debug'], {
    default: 'info',
    doc: 'Lowest level that is logged.',
  }),
  ADMIN_ADDR: setting.address({
    default: { host: '127.0.0.1', port: 0 },
    doc: 'Listener of /metrics, /healthz and /readyz; never public. Port 0: any free port. `./ravand up` gives each service its own.',
  }),
  SHUTDOWN_TIMEOUT: setting.duration({
    default: 10_000,
    doc: 'Time limit of a shutdown after SIGTERM.',
  }),
});

export const kafkaSettings = defineSettings({
  KAFKA_BROKERS: setting.list({
    default: ['127.0.0.1:9092'],
    doc: 'Addresses of the Kafka brokers, host:port. When set, `./ravand up` starts no broker.',
  }),
  KAFKA_TLS: setting.flag({ default: false, doc: 'Use TLS to the brokers.' }),
  KAFKA_SASL_MECHANISM: setting.oneOf(['', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'], {
    default: '',
    doc: 'SASL mechanism; empty: none.',
  }),
  KAFKA_SASL_USERNAME: setting.text({ default: '', doc: 'SASL user.' }),
  KAFKA_SASL_PASSWORD: setting.text({ default: '', doc: 'SASL password.', secret: true }),
});

const consumerSettings = defineSettings({
  KAFKA_INSTANCE_ID: setting.text({
    default: '',
    doc: 'Static membership name of this process in its consumer group (group.instance.id), unique per process: a process restarted within 6 s gets its partitions back at once. Empty: a killed process holds its partitions until its session times out (KAFKA_GROUP_PROTOCOL). `./ravand up` sets one per service.',
  }),
  KAFKA_GROUP_PROTOCOL: setting.oneOf(['consumer', 'classic'], {
    default: 'consumer',
    doc: 'Group protocol of consumers without KAFKA_INSTANCE_ID. consumer needs Kafka 4.0: a killed member delays only its own partitions, until the session of the broker times out (group.consumer.session.timeout.ms and group.consumer.min.session.timeout.ms: set both to 4000, and group.consumer.heartbeat.interval.ms to 1000; 45 s by default); in a group that has classic members, of an earlier release or with a name, it joins as one of them. classic: for earlier brokers; each killed member delays the next rebalance of the whole group.',
  }),
});

export const topicSettings = defineSettings({
  EVENTS_PARTITIONS: setting.integer({
    default: 4,
    min: 1,
    max: 10_000,
    doc: 'Partitions of events.raw and events.normalised. Read once, when the topics are created; later starts use the recorded number, which `./ravand log grow` changes.',
  }),
  KAFKA_REPLICATION: setting.integer({
    default: 0,
    min: 0,
    doc: 'Replicas of each partition; 0: 1 on the broker of `./ravand up`, otherwise 3.',
  }),
  KAFKA_MIN_ISR: setting.integer({
    default: 0,
    min: 0,
    doc: 'min.insync.replicas; 0: 1 on the broker of `./ravand up`, otherwise 2.',
  }),
  RAW_RETENTION: setting.duration({
    default: 0,
    doc: 'How long events.raw and events.verdicts are kept; 0: for ever. `./ravand up` lengthens existing topics, and refuses to shorten them.',
  }),
  NORMALISED_RETENTION: setting.duration({
    default: 30 * 86_400_000,
    doc: 'How long events.normalised and ingest.outcomes are kept.',
  }),
});

export const clickhouseSettings = defineSettings({
  CLICKHOUSE_URL: setting.url({
    default: 'http://127.0.0.1:8123',
    protocols: ['http:', 'https:'],
    doc: 'ClickHouse; may contain user and password. When set, `./ravand up` starts no ClickHouse.',
    secret: true,
  }),
  CLICKHOUSE_DATABASE: setting.text({ default: 'ravand', doc: 'Database of all tables.' }),
  CLICKHOUSE_CLUSTER: setting.text({
    default: '',
    doc: 'Name of a cluster: tables become Replicated ON CLUSTER with Distributed tables over them; one of several shards is refused; empty: one server.',
  }),
});

export const postgresSettings = defineSettings({
  DATABASE_URL: setting.url({
    default: 'postgres://postgres@127.0.0.1:5432/postgres',
    protocols: ['postgres:', 'postgresql:'],
    doc: 'PostgreSQL. When set, `./ravand up` starts no PGlite.',
    secret: true,
  }),
});

/** Settings of a process that consumes topics. PostgreSQL has the layout of the log. */
export const consumerProcessSettings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...postgresSettings,
  ...consumerSettings,
});

/** Settings of a process that writes what it consumes into ClickHouse. */
export const sinkSettings = defineSettings({ ...consumerProcessSettings, ...clickhouseSettings });

export const redisSettings = defineSettings({
  REDIS_URL: setting.url({
    default: 'redis://127.0.0.1:6379',
    protocols: ['redis:', 'rediss:'],
    doc: 'Redis. When set, `./ravand up` starts no Redis.',
    secret: true,
  }),
});

export const dedupeSettings = defineSettings({
  DEDUPE_TTL: setting.duration({
    default: 48 * 3_600_000,
    min: 1000,
    doc: 'Window of deduplication by message_id (ingest 2.5).',
  }),
});

/** When a service stops instead of filling events.dead (platform/dead-letter-breaker.ts). */
export const deadLetterSettings = defineSettings({
  DEAD_LETTER_BREAKER: setting.integer({
    default: 50,
    max: 100,
    doc: 'Per cent of events that may become dead letters; above it the normaliser or the sink stops instead of filling events.dead. 100: never stops.',
  }),
  DEAD_LETTER_BREAKER_LEAST: setting.integer({
    default: 100,
    min: 1,
    doc: 'Dead letters after which that share is checked.',
  }),
  DEAD_LETTER_BREAKER_RETRY: setting.duration({
    default: 60_000,
    min: 100,
    doc: 'How long a service that stopped so waits before it retries the same events.',
  }),
});

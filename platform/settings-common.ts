import { oauthSettings, saslProblem } from './kafka/sasl-settings.ts';
import { databaseUrl } from './postgres/database-url.ts';
import { redisProblem } from './redis/redis-problem.ts';
import { serversUrl } from './server-urls.ts';
import { splitHosts } from './split-hosts.ts';
import * as setting from './setting-kinds.ts';
import { defineSettings } from './settings.ts';
import { tlsFileSettings } from './tls-files.ts';
import { tracingSettings } from './tracing/settings.ts';

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
  ...tracingSettings,
});

export const kafkaSettings = defineSettings({
  KAFKA_BROKERS: setting.list({
    default: ['127.0.0.1:9092'],
    doc: 'Addresses of the Kafka brokers, host:port. When set, `./ravand up` starts no broker.',
  }),
  KAFKA_TLS: setting.flag({ default: false, doc: 'Use TLS to the brokers.' }),
  ...tlsFileSettings('KAFKA', {
    server: 'the brokers',
    isOn: ({ KAFKA_TLS }) => KAFKA_TLS === true,
    turnOn: 'set KAFKA_TLS=true',
  }),
  KAFKA_SASL_MECHANISM: {
    ...setting.oneOf(['', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'], {
      default: '',
      doc: 'SASL mechanism; empty: none. OAUTHBEARER takes its tokens from KAFKA_OAUTH_TOKEN_URL or KAFKA_OAUTH_TOKEN_PATH, the others use KAFKA_SASL_USERNAME.',
    }),
    problem: saslProblem,
  },
  KAFKA_SASL_USERNAME: setting.text({ default: '', doc: 'SASL user.' }),
  KAFKA_SASL_PASSWORD: setting.text({ default: '', doc: 'SASL password.', secret: true }),
  ...oauthSettings,
  KAFKA_ADDRESS_FAMILY: setting.oneOf(['any', 'v4', 'v6'], {
    default: 'any',
    doc: 'Which addresses of the brokers are used: IPv4, IPv6, or any.',
  }),
  KAFKA_CONNECT_TIMEOUT: setting.duration({
    default: 0,
    doc: 'Time limit of a connection to a broker, with TLS and SASL, from 1s; 0: 30 s, and 3 s for administration.',
  }),
  KAFKA_REQUEST_TIMEOUT: setting.duration({
    default: 0,
    doc: 'Time limit of a request to a broker, from 1s; 0: 60 s, and 10 s for administration. Records that are published have limits of their own (PUBLISH_TIMEOUT).',
  }),
});

const consumerSettings = defineSettings({
  KAFKA_INSTANCE_ID: setting.text({
    default: '',
    doc: 'Static membership name of this process in its consumer group (group.instance.id), unique per process: a process restarted within KAFKA_SESSION_TIMEOUT gets its partitions back at once. Empty: a killed process holds its partitions until its session times out (KAFKA_GROUP_PROTOCOL). `./ravand up` sets one per service.',
  }),
  KAFKA_SESSION_TIMEOUT: setting.duration({
    default: 6000,
    min: 1000,
    doc: 'How long a member with KAFKA_INSTANCE_ID, or of the classic protocol, may be silent before its partitions go to others; within group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers (6 s to 30 min by default). Commands of operators wait 20 s for the members of a group to leave.',
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

/** What is wrong with CLICKHOUSE_SHARDS beside the other settings of ClickHouse. */
function shardsProblem(
  name: unknown,
  values: Readonly<Record<string, unknown>>,
): string | undefined {
  const { CLICKHOUSE_URL, CLICKHOUSE_CLUSTER } = values;
  if (name === '') return undefined;
  if (CLICKHOUSE_CLUSTER !== '')
    return 'a shard is one server; unset CLICKHOUSE_CLUSTER, or unset this for a cluster of one shard';
  return splitHosts(String(CLICKHOUSE_URL)).length < 2
    ? 'CLICKHOUSE_URL names one host; name the host of every shard, in their order: http://a:8123,b:8123'
    : undefined;
}

const HTTP = { protocols: ['http:', 'https:'] };
const isHttps = (url: unknown) => typeof url === 'string' && url.startsWith('https:');

export const clickhouseSettings = defineSettings({
  CLICKHOUSE_URL: serversUrl({
    default: 'http://127.0.0.1:8123',
    ...HTTP,
    doc: 'ClickHouse; may contain user and password, and several hosts of a cluster (https://user:password@a:8443,b:8443): the first one that answers is used. When set, `./ravand up` starts no ClickHouse.',
  }),
  ...tlsFileSettings('CLICKHOUSE', {
    server: 'ClickHouse',
    isOn: ({ CLICKHOUSE_URL }) => isHttps(CLICKHOUSE_URL),
    turnOn: 'begin CLICKHOUSE_URL with https://',
  }),
  CLICKHOUSE_DATABASE: setting.text({ default: 'ravand', doc: 'Database of all tables.' }),
  CLICKHOUSE_CLUSTER: setting.text({
    default: '',
    doc: 'Name of a cluster: tables become Replicated ON CLUSTER with Distributed tables over them; one of several shards is refused; empty: one server.',
  }),
  CLICKHOUSE_SHARDS: {
    ...setting.text({
      default: '',
      doc: 'Name of a cluster whose shards are the hosts of CLICKHOUSE_URL, in that order, one server each: an account lies on one of them, account_id modulo their number (docs/operations/shards.md). The number is fixed by the first migration. Empty: no shards.',
    }),
    problem: shardsProblem,
  },
});

/** ClickHouse with the user that reads, for reports. */
export const reportsUrlSettings = defineSettings({
  CLICKHOUSE_REPORTS_URL: serversUrl({
    default: '',
    ...HTTP,
    doc: 'ClickHouse with a user of its own for reports, audience counts and exports, which only reads: their memory is then limited together, apart from inserts. Empty: CLICKHOUSE_URL, and REPORTS_MEMORY_PERCENT is divided among the queries.',
  }),
});

/** ClickHouse with the user that changes tables, for migrations and operators' commands. */
export const migrationUrlSettings = defineSettings({
  CLICKHOUSE_MIGRATION_URL: serversUrl({
    default: '',
    ...HTTP,
    doc: "ClickHouse with a user that may create and change tables, for migrations and operators' commands. Empty: CLICKHOUSE_URL.",
  }),
});

export const postgresSettings = defineSettings({
  DATABASE_URL: databaseUrl({
    default: 'postgres://postgres@127.0.0.1:5432/postgres',
    doc: 'PostgreSQL, or PgBouncer with pool_mode=transaction. TLS: ?sslmode=verify-full&sslrootcert=FILE, with sslcert=FILE and sslkey=FILE for a client certificate. When set, `./ravand up` starts no PGlite.',
  }),
  DATABASE_POOL_SIZE: setting.integer({
    default: 0,
    max: 1000,
    unit: 'connections',
    doc: 'Connections of a pool to PostgreSQL, at most; 0: what the service needs (docs/operations/connections.md lists the pools of each service).',
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

const REDIS_MODES = ['server', 'sentinel', 'cluster'] as const;

export const redisSettings = defineSettings({
  REDIS_URL: serversUrl({
    default: 'redis://127.0.0.1:6379',
    protocols: ['redis:', 'rediss:'],
    doc: 'Redis, with user, password and database; rediss:// for TLS. With REDIS_MODE=sentinel the hosts of the Sentinels, with cluster some nodes: redis://:password@a:6379,b:6379. When set, `./ravand up` starts no Redis.',
    problem: (url, { REDIS_MODE }) =>
      REDIS_MODE === 'server' && splitHosts(String(url)).length > 1
        ? 'it has several hosts; set REDIS_MODE to sentinel or cluster, or give one host'
        : undefined,
  }),
  REDIS_MODE: {
    ...setting.oneOf(REDIS_MODES, {
      default: 'server',
      doc: 'What REDIS_URL names: one server, Sentinels that know the current master (sentinel), or nodes of a Redis Cluster (cluster).',
    }),
    problem: redisProblem,
  },
  REDIS_SENTINEL_NAME: setting.text({
    default: 'mymaster',
    doc: 'Name of the master that the Sentinels watch.',
  }),
  REDIS_SENTINEL_USERNAME: setting.text({
    default: '',
    doc: 'User of the Sentinels themselves; user and password in REDIS_URL are those of Redis.',
  }),
  REDIS_SENTINEL_PASSWORD: setting.text({
    default: '',
    doc: 'Password of the Sentinels themselves; empty: they ask for none.',
    secret: true,
  }),
  ...tlsFileSettings('REDIS', {
    server: 'Redis',
    isOn: ({ REDIS_URL }) => typeof REDIS_URL === 'string' && REDIS_URL.startsWith('rediss:'),
    turnOn: 'begin REDIS_URL with rediss://',
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

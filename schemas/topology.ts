/**
 * The topology of Ravand in one table: topics, services, consumer groups, projections. What names
 * one of them (the local stack, status, lag, why, rebuild, freshness, the topics, the pages of
 * docs/) is derived from here; deploy/topology.test.ts checks the dashboards, alerts and DDL.
 */

export const TOPIC = {
  raw: 'events.raw',
  normalised: 'events.normalised',
  verdicts: 'events.verdicts',
  dead: 'events.dead',
  outcomes: 'ingest.outcomes',
  identityCommands: 'identity.commands',
  erasureCommands: 'erasure.commands',
  channelCommands: 'channel.commands',
  messagesPlanned: 'messages.planned',
  messagesOutcomes: 'messages.outcomes',
} as const;

export type Topic = (typeof TOPIC)[keyof typeof TOPIC];

/** Partitions of channel.commands, for ever: a user's consents are chained in the order of one. */
export const CHANNEL_PARTITIONS = 8;

interface TopicRow {
  topic: Topic;
  /** The setting that gives the number of partitions, or the number. */
  partitions: 'EVENTS_PARTITIONS' | number;
  /** The setting that gives how long records are kept, or the time, ms; 0: for ever. */
  retention: 'RAW_RETENTION' | 'NORMALISED_RETENTION' | number;
}

/** Partitions of messages.planned and messages.outcomes, whose order nobody needs. */
export const MESSAGE_PARTITIONS = 4;

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/**
 * Every topic. events.verdicts is kept as long as events.raw: a replay of events.raw decides as the
 * normaliser did. events.raw and events.normalised have the same number of partitions, which only
 * `./ravand log grow` changes: raw partition p goes to normalised partition p. identity.commands is
 * kept as long as events.raw may be: a rebuild of the identities reads both. erasure.commands is
 * kept for ever: erasures are restored from it. channel.commands is kept for ever, and its number
 * of partitions never changes. messages.planned is copied into the dispatcher's queue within
 * seconds; messages.outcomes is kept longer than the rows that a rebuild makes of it.
 */
export const TOPICS: readonly TopicRow[] = [
  { topic: TOPIC.raw, partitions: 'EVENTS_PARTITIONS', retention: 'RAW_RETENTION' },
  { topic: TOPIC.normalised, partitions: 'EVENTS_PARTITIONS', retention: 'NORMALISED_RETENTION' },
  { topic: TOPIC.dead, partitions: 1, retention: YEAR_MS },
  { topic: TOPIC.verdicts, partitions: 'EVENTS_PARTITIONS', retention: 'RAW_RETENTION' },
  { topic: TOPIC.identityCommands, partitions: 1, retention: 0 },
  { topic: TOPIC.erasureCommands, partitions: 1, retention: 0 },
  { topic: TOPIC.channelCommands, partitions: CHANNEL_PARTITIONS, retention: 0 },
  { topic: TOPIC.messagesPlanned, partitions: MESSAGE_PARTITIONS, retention: 7 * DAY_MS },
  { topic: TOPIC.messagesOutcomes, partitions: MESSAGE_PARTITIONS, retention: 402 * DAY_MS },
  { topic: TOPIC.outcomes, partitions: 'EVENTS_PARTITIONS', retention: 'NORMALISED_RETENTION' },
];

/** What `up` runs once before the services that need it. */
export type SetupStep =
  'topics' | 'migrate-clickhouse' | 'migrate-postgres' | 'demo-account' | 'build-panel' | 'sdk';

interface ServiceRow {
  name: string;
  /** Holds main.ts, app.ts and config.ts. */
  folder: string;
  /** What must be up or done before its first start. */
  needs: readonly ('redis' | SetupStep)[];
  /** Part of `./ravand up` only: an installation has none. */
  isLocal?: true;
}

/** Every service, in the direction of the events. Each is one process. */
export const SERVICES = [
  {
    name: 'ingest-gateway',
    folder: 'ingest-gateway',
    needs: ['redis', 'topics', 'migrate-postgres', 'sdk'],
  },
  {
    name: 'normaliser',
    folder: 'pipeline/normalise',
    needs: ['redis', 'topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'events-sink',
    folder: 'projections/events',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'profiles-sink',
    folder: 'projections/profiles',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'identities-sink',
    folder: 'projections/identities',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'catalogue-sink',
    folder: 'projections/catalogue',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'quality-sink',
    folder: 'projections/quality',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'addresses-sink',
    folder: 'projections/addresses',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'messages-sink',
    folder: 'projections/messages',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'retention',
    folder: 'projections/retention',
    needs: ['migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'metering',
    folder: 'pipeline/metering',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  { name: 'relays', folder: 'pipeline/relays', needs: ['topics', 'migrate-postgres'] },
  {
    name: 'planner',
    folder: 'pipeline/planner',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'dispatcher',
    folder: 'pipeline/dispatcher',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'management-api',
    folder: 'management-api',
    needs: ['redis', 'topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  {
    name: 'control-plane',
    folder: 'control-plane',
    needs: ['redis', 'topics', 'migrate-clickhouse', 'migrate-postgres', 'build-panel'],
  },
  {
    name: 'operator',
    folder: 'ops/operator',
    needs: ['redis', 'topics', 'migrate-clickhouse', 'migrate-postgres'],
  },
  { name: 'sandbox', folder: 'deploy/sandbox', needs: [], isLocal: true },
] as const satisfies readonly ServiceRow[];

export type ServiceName = (typeof SERVICES)[number]['name'];

export const SERVICE_NAMES: readonly ServiceName[] = SERVICES.map(({ name }) => name);

/** The services of an installation: what is monitored. */
export const INSTALLED_SERVICES: readonly ServiceName[] = SERVICES.flatMap((row) =>
  'isLocal' in row ? [] : [row.name],
);

export const GROUP = {
  normaliser: 'normaliser',
  events: 'events-sink',
  profiles: 'profiles-sink',
  identities: 'identities-sink',
  identityCommands: 'identities-commands',
  catalogue: 'catalogue-sink',
  quality: 'quality-sink',
  addresses: 'addresses-sink',
  messages: 'messages-sink',
  dispatcher: 'dispatcher',
  relays: 'relays',
} as const;

/** The name under which metering keeps its positions in PostgreSQL (log_positions). */
export const METERING_READER = 'metering';

/** Metering keeps its positions in PostgreSQL; these commits are for operators only. */
export function meteringGroup(topic: string): string {
  return `${METERING_READER}.${topic}`;
}

export interface ConsumerGroup {
  group: string;
  topic: Topic;
  service: ServiceName;
}

/** Every consumer group; the first of a service is the one that `status` shows. */
export const CONSUMER_GROUPS: readonly ConsumerGroup[] = [
  { group: GROUP.normaliser, topic: TOPIC.raw, service: 'normaliser' },
  { group: GROUP.events, topic: TOPIC.normalised, service: 'events-sink' },
  { group: GROUP.profiles, topic: TOPIC.normalised, service: 'profiles-sink' },
  { group: GROUP.identities, topic: TOPIC.normalised, service: 'identities-sink' },
  { group: GROUP.catalogue, topic: TOPIC.normalised, service: 'catalogue-sink' },
  { group: GROUP.relays, topic: TOPIC.normalised, service: 'relays' },
  { group: GROUP.identityCommands, topic: TOPIC.identityCommands, service: 'identities-sink' },
  { group: GROUP.quality, topic: TOPIC.outcomes, service: 'quality-sink' },
  { group: GROUP.addresses, topic: TOPIC.channelCommands, service: 'addresses-sink' },
  { group: GROUP.messages, topic: TOPIC.messagesOutcomes, service: 'messages-sink' },
  { group: GROUP.dispatcher, topic: TOPIC.messagesPlanned, service: 'dispatcher' },
  ...[TOPIC.raw, TOPIC.verdicts, TOPIC.outcomes, TOPIC.dead].map((topic) => ({
    group: meteringGroup(topic),
    topic,
    service: 'metering' as const,
  })),
];

interface ProjectionRow {
  service: ServiceName;
  /** Writes the live table. */
  group: string;
  /** What the group reads. */
  topic: Topic;
  /** The live table in ClickHouse. */
  table: string;
  /** The TTL of the table, days; undefined: it keeps everything. */
  ttlDays: number | undefined;
}

/** The tables that are computed from the log, and can be rebuilt from it. */
export const PROJECTIONS = {
  events: {
    service: 'events-sink',
    group: GROUP.events,
    topic: TOPIC.normalised,
    table: 'events',
    ttlDays: 400,
  },
  profiles: {
    service: 'profiles-sink',
    group: GROUP.profiles,
    topic: TOPIC.normalised,
    table: 'profiles',
    ttlDays: undefined,
  },
  identities: {
    service: 'identities-sink',
    group: GROUP.identities,
    topic: TOPIC.normalised,
    table: 'identities_flat',
    ttlDays: undefined,
  },
  catalogue: {
    service: 'catalogue-sink',
    group: GROUP.catalogue,
    topic: TOPIC.normalised,
    table: 'event_catalogue',
    ttlDays: 100,
  },
  quality: {
    service: 'quality-sink',
    group: GROUP.quality,
    topic: TOPIC.outcomes,
    table: 'ingest_quality',
    ttlDays: 400,
  },
  messages: {
    service: 'messages-sink',
    group: GROUP.messages,
    topic: TOPIC.messagesOutcomes,
    table: 'messages',
    ttlDays: 400,
  },
} as const satisfies Readonly<Record<string, ProjectionRow>>;

export type ProjectionName = keyof typeof PROJECTIONS;

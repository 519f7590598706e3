import { totalmem } from 'node:os';
import * as setting from '../../platform/setting-kinds.ts';
import {
  clickhouseSettings,
  kafkaSettings,
  postgresSettings,
  redisSettings,
} from '../../platform/settings-common.ts';
import { defineSettings, parseSettings, type SettingsOf } from '../../platform/settings.ts';
import { BROKER_COUNTS } from './services/brokers.ts';
import { SHARD_COUNTS } from './services/shards.ts';

const GIB = 2 ** 30;

/** What `./ravand` itself reads; the services read the rest of the environment. */
export const settings = defineSettings({
  RAVAND_HOME: setting.text({
    default: '',
    doc: 'Where one stack keeps its state; empty: `.ravand/` under the checkout. Stacks with different homes are independent.',
  }),
  CLICKHOUSE_MEMORY_LIMIT: setting.bytes({
    default: 0,
    doc: 'Memory limit of the ClickHouse of `./ravand up`; 0: a third of the machine, at least 1 GiB and at most 8 GiB.',
  }),
  KAFKA_HEAP: setting.bytes({
    default: 256 * 2 ** 20,
    min: 128 * 2 ** 20,
    doc: 'Java heap of each Kafka broker of `./ravand up`.',
  }),
  LOCAL_CLICKHOUSE_SHARDS: setting.oneOf(['', ...SHARD_COUNTS], {
    default: '',
    doc: 'How many ClickHouse servers `./ravand up` runs, as shards (docs/operations/shards.md). Empty: those that the home was made with, one at first.',
  }),
  LOCAL_KAFKA_BROKERS: setting.oneOf(['', ...BROKER_COUNTS], {
    default: '',
    doc: 'How many Kafka brokers `./ravand up` runs; the same as its option --brokers. Three replicate every partition, with min.insync.replicas 2, TLS and SASL. Empty: those that the home was made with, one at first.',
  }),
  LOCAL_KAFKA_SASL: setting.flag({
    default: false,
    doc: 'Whether the one Kafka broker of `./ravand up` asks for the password of its home (SASL PLAIN); three always do. By default any process on this machine can connect: clients find only addresses in `kafka_brokers`.',
  }),
  TEST_SERVICES: setting.oneOf(['local', 'containers'], {
    default: 'local',
    doc: 'Where the servers under `./ravand up` and `./ravand test` come from: processes on this machine, or testcontainers on a Docker engine.',
  }),
});

const external = defineSettings({
  ...kafkaSettings,
  ...clickhouseSettings,
  ...postgresSettings,
  ...redisSettings,
});

export type LocalSettings = SettingsOf<typeof settings>;
export type ExternalSettings = SettingsOf<typeof external>;

export function loadConfig(env: NodeJS.ProcessEnv): LocalSettings {
  return parseSettings(settings, env);
}

/** The four servers as the environment gives them, with their credentials. */
export function loadExternal(env: NodeJS.ProcessEnv): ExternalSettings {
  return parseSettings(external, env);
}

/** Bytes that ClickHouse may take. */
export function clickhouseMemory(limit: number, machine: number = totalmem()): number {
  if (limit > 0) return limit;
  return Math.floor(Math.min(Math.max(machine / 3, GIB), 8 * GIB));
}

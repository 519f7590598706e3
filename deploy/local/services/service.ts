import type { TlsFiles } from '../../../platform/tls-files.ts';
import type { Address } from '../../../platform/setting-kinds.ts';

/** How a process is started: the command itself, without a shell or wrapper. */
export interface Launch {
  command: string;
  args: readonly string[];
  /** Added to the environment of `up`. */
  env: Readonly<Record<string, string>>;
  /** What it gives way to others of the machine, as nice(1) counts it; absent: to nobody. */
  nice?: number;
  /** Runs before a requested start; idempotent. */
  prepare?: () => Promise<void>;
}

/** How the supervisor probes a service. */
export type Readiness =
  | { kind: 'http'; url: string; tls?: TlsFiles }
  | { kind: 'kafka'; address: Address; tls: TlsFiles | undefined }
  | { kind: 'postgres'; address: Address }
  | { kind: 'redis'; address: Address; tls: TlsFiles | undefined };

export interface Service {
  name: string;
  /** What clients connect to; never with a password. */
  address: string;
  adminUrl: string | undefined;
  /** Services and steps that must be up or done before its first start. */
  needs: readonly string[];
  /** Undefined: an external server, which is probed but neither started nor stopped. */
  launch: Launch | undefined;
  /** The setting that names an external server. */
  setting: string | undefined;
  readiness: Readiness;
  /** Time limit to become ready at `up` and `start SERVICE`, ms. */
  startMs: number;
  /** Time between SIGTERM and SIGKILL, ms. */
  stopMs: number;
  /** The consumer group and topic whose lag `status` shows. */
  lag: { group: string; topic: string } | undefined;
}

/**
 * Runs once at each `up`, before the services that need it: topics, migrations, the demo account.
 */
export interface Step {
  name: string;
  title: string;
  needs: readonly string[];
  launch: Launch;
  timeoutMs: number;
}

export const serverSettings = {
  kafka: 'KAFKA_BROKERS',
  clickhouse: 'CLICKHOUSE_URL',
  postgres: 'DATABASE_URL',
  redis: 'REDIS_URL',
} as const;

export type ServerLaunches = Record<keyof typeof serverSettings, Launch | undefined> & {
  /** Of the other brokers of Kafka. */
  peers?: readonly Launch[];
  /** Of the other shards of ClickHouse. */
  shards?: readonly Launch[];
};

import { archiveSettings } from '../../ops/archive/archive-store.ts';
import { operatorSettings } from '../../ops/operator-context.ts';
import type { SettingsTable } from '../../platform/settings.ts';
import { CONSUMER_GROUPS, SERVICES } from '../../schemas/topology.ts';
import { stepSettings } from '../local/services/setup-steps.ts';
import { heapOptions } from '../local/services/node-service.ts';
import type { NamedSettings } from '../service-settings.ts';

/** What an installation runs of a service: the Helm chart and compose.yaml read it. */
export interface DeployedService {
  name: string;
  /** Arguments of node. */
  args: string[];
  /** It keeps files that must outlive the process. */
  isStateful: boolean;
  /** More than one process may run at a time. */
  scales: boolean;
  /** The setting of its public listener, and its port. */
  listener: { setting: string; port: number } | null;
  /** What it reads with a consumer group: its lag scales it. */
  groups: { group: string; topic: string }[];
  /** Names of settings; of secrets. */
  settings: string[];
  secrets: string[];
  /** It calls addresses of others: providers of messages, customers' endpoints. */
  callsOthers: boolean;
}

/** Where every process answers /metrics, /healthz and /readyz. */
export const ADMIN_PORT = 9464;

const LISTENERS: Readonly<Record<string, { setting: string; port: number }>> = {
  'ingest-gateway': { setting: 'HTTP_ADDR', port: 8080 },
  'management-api': { setting: 'PUBLIC_API_ADDR', port: 8081 },
  'control-plane': { setting: 'PANEL_ADDR', port: 8082 },
};
/** The second process of these waits for the first one, or does its work twice. */
const SINGLE: readonly string[] = ['metering', 'retention', 'planner'];
/** The chart and the image give them their values. */
const GIVEN: readonly string[] = [
  'ADMIN_ADDR',
  'KAFKA_INSTANCE_ID',
  'SPOOL_DIR',
  'EXPORT_DIR',
  'PANEL_DIR',
  'SDK_DIR',
];

/** Every service of an installation, from the topology and the settings that it reads. */
export function deployedServices(readers: readonly NamedSettings[]): DeployedService[] {
  return SERVICES.filter((row) => !('isLocal' in row)).map(({ name, folder }) => {
    const table = readers.find(({ reader }) => reader === name)?.table ?? {};
    const listener = LISTENERS[name] ?? null;
    const own = Object.entries(table).filter(
      ([setting]) => !GIVEN.includes(setting) && setting !== listener?.setting,
    );
    return {
      name,
      args: [...heapOptions(name), `${folder}/main.ts`],
      isStateful: 'SPOOL_DIR' in table,
      scales: !SINGLE.includes(name),
      listener,
      groups: CONSUMER_GROUPS.filter(
        ({ service, group }) => service === name && !group.startsWith(`${name}.`),
      ).map(({ group, topic }) => ({ group, topic })),
      ...namesOf(Object.fromEntries(own)),
      callsOthers: Object.keys(table).some((setting) => setting.startsWith('OUTBOUND_')),
    };
  });
}

function namesOf(table: SettingsTable): { settings: string[]; secrets: string[] } {
  const entries = Object.entries(table);
  return {
    settings: entries.filter(([, { secret }]) => !secret).map(([name]) => name),
    secrets: entries.filter(([, { secret }]) => secret).map(([name]) => name),
  };
}

/** What the jobs of the chart read. */
const STEPS: Readonly<Record<string, SettingsTable>> = {
  ...Object.fromEntries(
    ['migrate-postgres', 'migrate-clickhouse', 'topics'].map((name) => [name, stepSettings(name)]),
  ),
  archive: { ...operatorSettings, ...archiveSettings },
};

/** deploy/helm/ravand/services.json */
export function chartServices(readers: readonly NamedSettings[]): string {
  const steps = Object.entries(STEPS).map(([name, table]) => [name, namesOf(table)]);
  const services = deployedServices(readers);
  const content = { adminPort: ADMIN_PORT, services, steps: Object.fromEntries(steps) as unknown };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Write files of exports, or remove those of erased people. */
const SHARES_EXPORTS: readonly string[] = ['management-api', 'operator'];

/** deploy/docker/compose.yaml with the services of the topology behind its servers. */
export function composeFile(current: string, readers: readonly NamedSettings[]): string {
  const mark = '  # The services of the topology; node deploy/generate/write.ts writes them.\n';
  const head = current.slice(0, current.indexOf(mark));
  const tail = current.slice(current.indexOf('\nvolumes:'));
  const services = deployedServices(readers).map((service) => {
    const { name, args, listener, isStateful } = service;
    const reads = [...service.settings, ...service.secrets].sort();
    const volumes = [
      ...(isStateful ? ['spool:/var/lib/ravand/spool'] : []),
      ...(SHARES_EXPORTS.includes(name) ? ['exports:/var/lib/ravand/exports'] : []),
    ];
    const lines = [
      `${name}:`,
      '  <<: *service',
      `  command: [${args.map((arg) => JSON.stringify(arg)).join(', ')}]`,
      '  environment:',
      `    ADMIN_ADDR: 0.0.0.0:${ADMIN_PORT}`,
      ...(listener ? [`    ${listener.setting}: 0.0.0.0:${listener.port}`] : []),
      ...(isStateful ? ['    SPOOL_DIR: /var/lib/ravand/spool'] : []),
      ...(SHARES_EXPORTS.includes(name) ? ['    EXPORT_DIR: /var/lib/ravand/exports'] : []),
      ...reads.map((setting) => `    ${setting}: ${IN_COMPOSE[setting] ?? null}`),
      ...(listener ? [`  ports: ['127.0.0.1:${listener.port}:${listener.port}']`] : []),
      ...(volumes.length > 0
        ? [`  volumes: [${volumes.map((one) => `'${one}'`).join(', ')}]`]
        : []),
    ];
    return lines.map((line) => `  ${line}\n`).join('');
  });
  return `${head}${mark}${services.join('\n')}${tail}`;
}

/** Of the servers in compose.yaml; every other setting comes from the environment, or is unset. */
const IN_COMPOSE: Readonly<Record<string, string>> = {
  KAFKA_BROKERS: 'kafka:9092',
  CLICKHOUSE_URL: 'http://ravand:${CLICKHOUSE_PASSWORD:?set it}@clickhouse:8123',
  DATABASE_URL: 'postgres://ravand:${POSTGRES_PASSWORD:?set it}@postgres:5432/ravand',
  REDIS_URL: 'redis://:${REDIS_PASSWORD:?set it}@redis:6379',
};

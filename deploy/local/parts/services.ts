import { join } from 'node:path';
import type { StackPlan } from '../stack-plan.ts';
import type { Part } from './part.ts';

interface ServiceRow {
  name: string;
  /** Holds main.ts and config.ts. */
  folder: string;
  needs: readonly string[];
  /** What clients connect to; the admin address of a service that has no clients. */
  address?: (plan: StackPlan) => string;
  lag?: { group: string; topic: string };
}

/** Every service of the stack. A new one is a row here. */
const rows: readonly ServiceRow[] = [
  {
    name: 'ingest-gateway',
    folder: 'ingest-gateway',
    needs: ['redis', 'topics', 'migrate-postgres'],
    address: (plan) => plan.http_addr,
  },
  {
    name: 'normaliser',
    folder: 'pipeline/normalise',
    needs: ['redis', 'topics', 'migrate-clickhouse', 'migrate-postgres'],
    lag: { group: 'normaliser', topic: 'events.raw' },
  },
  {
    name: 'events-sink',
    folder: 'projections/events',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
    lag: { group: 'events-sink', topic: 'events.normalised' },
  },
  {
    name: 'profiles-sink',
    folder: 'projections/profiles',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
    lag: { group: 'profiles-sink', topic: 'events.normalised' },
  },
  {
    name: 'identities-sink',
    folder: 'projections/identities',
    needs: ['topics', 'migrate-clickhouse', 'migrate-postgres'],
    lag: { group: 'identities-sink', topic: 'events.normalised' },
  },
  {
    name: 'catalogue-sink',
    folder: 'projections/catalogue',
    needs: ['topics', 'migrate-clickhouse'],
    lag: { group: 'catalogue-sink', topic: 'events.normalised' },
  },
  {
    name: 'quality-sink',
    folder: 'projections/quality',
    needs: ['topics', 'migrate-clickhouse'],
    lag: { group: 'quality-sink', topic: 'ingest.outcomes' },
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
    lag: { group: 'metering.events.raw', topic: 'events.raw' },
  },
  {
    name: 'relays',
    folder: 'pipeline/relays',
    needs: ['topics', 'migrate-postgres'],
    lag: { group: 'relays', topic: 'events.normalised' },
  },
  {
    name: 'management-api',
    folder: 'management-api',
    needs: ['redis', 'topics', 'migrate-clickhouse', 'migrate-postgres'],
    address: (plan) => plan.public_api_addr,
  },
  {
    name: 'control-plane',
    folder: 'control-plane',
    needs: ['redis', 'migrate-postgres'],
    address: (plan) => plan.panel_addr,
  },
];

export const serviceNames: readonly string[] = rows.map((row) => row.name);
export const serviceFolders: readonly string[] = rows.map((row) => row.folder);

interface ServiceContext {
  plan: StackPlan;
  checkout: string;
  /** Environment that all services get beside the user's own. */
  env: Readonly<Record<string, string>>;
}

export function servicePart(name: string, { plan, checkout, env }: ServiceContext): Part {
  const row = rows.find((one) => one.name === name);
  const port = plan.admin_ports[name];
  if (row === undefined || port === undefined)
    throw new Error(
      `the stack that runs was made by another version, which has no ${name}: ./ravand down, then ./ravand up`,
    );
  const admin = `127.0.0.1:${port}`;
  return {
    name,
    address: row.address?.(plan) ?? admin,
    adminUrl: `http://${admin}`,
    needs: row.needs,
    setting: undefined,
    launch: {
      command: process.execPath,
      args: [join(checkout, row.folder, 'main.ts')],
      env: { ...env, ADMIN_ADDR: admin, KAFKA_INSTANCE_ID: name },
    },
    readiness: { kind: 'http', url: `http://${admin}/readyz` },
    startMs: 120_000,
    stopMs: 15_000,
    lag: row.lag,
  };
}

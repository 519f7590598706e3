import { join } from 'node:path';
import { CONSUMER_GROUPS, SERVICES } from '../../../schemas/topology.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';
import { urlOfListener } from '../plan-stack.ts';
import { settingsFor } from '../process-environment.ts';
import { niceOf } from './nice.ts';
import type { Service } from './service.ts';

/** What clients connect to; a service that is not listed has only its admin port. */
const LISTENERS: Partial<Record<string, (plan: StackPlan) => string>> = {
  'ingest-gateway': (plan) => plan.http_addr,
  'management-api': (plan) => plan.public_api_addr,
  'control-plane': (plan) => plan.panel_addr,
  sandbox: (plan) => plan.sandbox_addr,
};

/**
 * Services that process every event, or every message that is asked for. The others get a small
 * young generation (MiB): without one, each keeps up to 48 MiB of garbage.
 */
const PER_EVENT: readonly string[] = [
  'ingest-gateway',
  'normaliser',
  'events-sink',
  'profiles-sink',
  'identities-sink',
  'management-api',
];
export const SMALL_HEAP = ['--max-semi-space-size=2'];
/**
 * Of the dispatcher: what belongs to a message lives until its outcome is durable. In the young
 * generation that is the default it would be copied twice and become old: a tenth more CPU and
 * 50 MiB more.
 */
const LARGE_YOUNG_HEAP = ['--max-semi-space-size=32'];

/** Options of node for a service. */
export function heapOptions(name: string): readonly string[] {
  if (name === 'dispatcher') return LARGE_YOUNG_HEAP;
  return PER_EVENT.includes(name) ? [] : SMALL_HEAP;
}

interface ServiceContext {
  plan: StackPlan;
  checkout: string;
  /** The settings of the stack; a service gets those that it reads. */
  env: NodeJS.ProcessEnv;
}

export function nodeService(name: string, { plan, checkout, env }: ServiceContext): Service {
  const row = SERVICES.find((one) => one.name === name);
  const port = plan.admin_ports[name];
  // A plan of an older version has no settings.
  const reads = (plan as Partial<StackPlan>).settings?.[name];
  if (row === undefined || port === undefined || reads === undefined)
    throw new Error(
      `the running stack was started by another version, which has no ${name}: ./ravand down, then ./ravand up`,
    );
  const admin = `127.0.0.1:${port}`;
  return {
    name,
    address: LISTENERS[name]?.(plan) ?? admin,
    adminUrl: `http://${admin}`,
    needs: row.needs,
    setting: undefined,
    launch: {
      command: process.execPath,
      args: [...heapOptions(name), join(checkout, row.folder, 'main.ts')],
      nice: niceOf(row.name),
      env: {
        RAVAND_HOME: env['RAVAND_HOME'] ?? '',
        ...settingsFor(reads, {
          ...linkSettings(name, plan),
          ...{ ...env, ADMIN_ADDR: admin, KAFKA_INSTANCE_ID: name },
        }),
      },
    },
    readiness: { kind: 'http', url: `http://${admin}/readyz` },
    startMs: 300_000,
    stopMs: 15_000,
    lag: CONSUMER_GROUPS.find(({ service }) => service === name),
  };
}

/**
 * Links in e-mails lead to this stack unless EMAIL_TRACK_BASE says otherwise. The panel shows no
 * address of webhooks then: platforms could not reach it.
 */
function linkSettings(name: string, plan: StackPlan): NodeJS.ProcessEnv {
  const url = urlOfListener(plan.http_addr);
  return name === 'control-plane' ? { INGEST_URL: url } : { EMAIL_TRACK_BASE: url };
}

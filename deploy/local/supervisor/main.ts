/**
 * The process that runs all services, started by `./ravand up`. Reads run/stack.json, starts
 * everything in order, and serves the control socket until `down` or SIGTERM. Standard output is
 * its log.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { homeOf } from '../../../cli/stack/home.ts';
import { readJsonFile, writeJsonFile } from '../../../cli/json-file.ts';
import { identify } from '../../../cli/stack/process-identity.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';
import { errorText } from '../../../platform/redaction/redact-text.ts';
import { outboundSettings } from '../../../platform/outbound/outbound-settings.ts';
import { urlOfListener } from '../plan-stack.ts';
import type { DemoKeys } from '../../../cli/stack/ready.ts';
import type { Ready } from '../../../cli/stack/ready.ts';
import { inheritedEnvironment, settingsFor } from '../process-environment.ts';
import { serviceEnv, stackServices, prepareServers, stepsOf } from '../stack.ts';
import { listenForControl } from './control-server.ts';
import type { ControlRequest } from '../../../cli/stack/control-protocol.ts';
import { createSupervisor, StartFailed } from './supervisor.ts';
import { lastLines, rotateIfLarge } from './log-file.ts';

const checkout = join(import.meta.dirname, '../../..');
const { env } = process;
const home = homeOf({ checkout, env });
const plan = readJsonFile<StackPlan>(home.planFile);
const self = identify(process.pid);
if (plan === undefined || self === undefined)
  throw new Error(`${home.planFile} cannot be read; start this process with ./ravand up`);

const readyOf = (demo: DemoKeys): Ready => ({
  ingest_url: urlOfListener(plan.http_addr),
  base_url: urlOfListener(plan.public_api_addr),
  panel_url: urlOfListener(plan.panel_addr),
  sandbox_url: urlOfListener(plan.sandbox_addr),
  clickhouse_url: plan.clickhouse_url,
  clickhouse_database: plan.clickhouse_database,
  clickhouse_shards: plan.clickhouse_shards,
  kafka_brokers: plan.kafka_brokers,
  kafka_login: plan.kafka_login,
  kafka_ca_file: plan.kafka_ca_file,
  redis_url: plan.redis_url,
  database_url: plan.database_url,
  outbound: settingsFor(Object.keys(outboundSettings), { ...env, ...serviceEnv({ plan, home }) }),
  demo,
});

// Without this process nothing restarts or stops the services: it survives its own errors.
process.on('uncaughtException', (error) => console.error('unexpected:', errorText(error)));
process.on('unhandledRejection', (error) => console.error('unexpected:', errorText(error)));

const launches = prepareServers({ plan, home, checkout, env });
const supervisor = createSupervisor({
  home,
  services: stackServices({ plan, home, checkout }, launches),
  steps: stepsOf({ plan, home, checkout }),
  env: inheritedEnvironment(env, plan),
  cwd: checkout,
  onReady: () => {
    const demo = readJsonFile<DemoKeys>(home.demoFile);
    if (demo === undefined)
      throw new StartFailed(
        `${home.demoFile} is missing although the demo account was created`,
        [],
      );
    writeJsonFile(home.readyFile, readyOf(demo));
  },
});

let goingDown: Promise<void> | undefined;
const goDown = async (exitCode: number): Promise<void> => {
  goingDown ??= supervisor.bringDown();
  await goingDown;
  setTimeout(() => {
    for (const file of [home.supervisorFile, home.processesFile, home.socket])
      rmSync(file, { force: true });
    process.exit(exitCode);
  }, 50);
};

const server = await listenForControl(
  home.socket,
  async (request: ControlRequest, { reply, onClose }) => {
    switch (request.command) {
      case 'status':
        reply({ event: 'status', services: await supervisor.status() });
        reply({ event: 'end' });
        return;
      case 'start':
        reply({ event: 'end', text: await supervisor.startService(request.service) });
        return;
      case 'stop':
        reply({ event: 'end', text: await supervisor.stopService(request.service) });
        return;
      case 'down':
        await goDown(0);
        reply({ event: 'end' });
        return;
      case 'watch':
        await new Promise<void>((resolve) => {
          onClose(resolve);
          onClose(supervisor.watch(reply));
        });
    }
  },
);
// Commands find the supervisor by this file.
writeJsonFile(home.supervisorFile, self);
server.on('error', (error) => console.error('the control socket failed:', errorText(error)));
setInterval(() => rotateIfLarge(home.logs, 'supervisor'), 5000).unref();

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  process.on(signal, () => void goDown(0));

try {
  await supervisor.bringUp();
} catch (error) {
  supervisor.emit({
    event: 'failed',
    message: (error as Error).message,
    lines:
      error instanceof StartFailed ? error.lines : lastLines(join(home.logs, 'supervisor.log'), 10),
  });
  await goDown(1);
}

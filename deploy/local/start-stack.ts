import { rmSync } from 'node:fs';
import * as setting from '../../platform/setting-kinds.ts';
import {
  defineSettings,
  parseSettings,
  SettingsError,
  variablesOf,
} from '../../platform/settings.ts';
import { withSecretsOfFiles } from './process-environment.ts';
import { loadConfig, loadExternal, type LocalSettings } from './config.ts';
import { CommandError } from '../../cli/command.ts';
import { makeHome, type Home } from '../../cli/stack/home.ts';
import { readJsonFile, writeJsonFile } from '../../cli/json-file.ts';
import { endOrphanedProcesses } from './orphaned-processes.ts';
import { serviceSettings } from '../service-settings.ts';
import { ensureHomeKeys } from './home-keys.ts';
import { ensureServerPasswords } from './server-passwords.ts';
import { planStack, type KeptPorts } from './plan-stack.ts';
import { brokerCount } from './services/brokers.ts';
import { shardCount } from './services/shards.ts';
import {
  ensureKafkaCertificates,
  kafkaCertificates,
  removeKafkaCertificates,
} from './services/kafka-certificates.ts';
import { runningSupervisor } from '../../cli/stack/control-client.ts';
import type { StackPlan } from '../../cli/stack/stack-plan.ts';
import { lockLaunch, launchSupervisor } from './supervisor/launch.ts';

interface Starting {
  home: Home;
  checkout: string;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
}

const listeners = defineSettings({
  HTTP_ADDR: setting.address({ default: undefined, doc: '' }),
  PUBLIC_API_ADDR: setting.address({ default: undefined, doc: '' }),
  PANEL_ADDR: setting.address({ default: undefined, doc: '' }),
  SPOOL_DIR: setting.text({ default: '', doc: '' }),
});

/**
 * Starts the supervisor of a home unless it runs, and returns which of the two it was. Throws
 * CommandError or SettingsError when it cannot be started.
 */
export async function startStack({
  home,
  checkout,
  env: given,
  say,
}: Starting): Promise<'started' | 'running'> {
  if (runningSupervisor(home)) return 'running';
  const settings = await checkSettings(given);
  const env = withSecretsOfFiles(given, Object.values(settings).flat());
  makeHome(home);
  const unlock = lockLaunch(home);
  try {
    if (runningSupervisor(home)) return 'running';
    const left = await endOrphanedProcesses(home);
    if (left.length > 0)
      say(
        `the previous supervisor had died; stopped the services it left running: ${left.join(', ')}`,
      );
    rmSync(home.readyFile, { force: true });
    const listening = parseSettings(listeners, env);
    const config = loadConfig(env);
    const kafka = await prepareBrokers(home, { config, env });
    const { plan, ports } = await planStack({
      env,
      kept: readJsonFile<KeptPorts>(home.portsFile) ?? {},
      listeners: listening,
      external: loadExternal(env),
      passwords: ensureServerPasswords(home),
      kafka,
      shards: countShards(home, { config, env }),
      spoolDir: listening.SPOOL_DIR === '' ? home.spool : listening.SPOOL_DIR,
      settings,
    });
    ensureHomeKeys(home);
    writeJsonFile(home.planFile, plan);
    writeJsonFile(home.portsFile, { ...readJsonFile<KeptPorts>(home.portsFile), ...ports });
    await launchSupervisor({ home, checkout, env });
    return 'started';
  } finally {
    unlock();
  }
}

/** Several brokers have TLS and passwords, as elsewhere. Throws CommandError when it cannot be. */
async function prepareBrokers(
  home: Home,
  { config, env }: { config: LocalSettings; env: NodeJS.ProcessEnv },
): Promise<Parameters<typeof planStack>[0]['kafka']> {
  const isLocal = config.TEST_SERVICES === 'local' && (env['KAFKA_BROKERS']?.trim() ?? '') === '';
  if (!isLocal && config.LOCAL_KAFKA_BROKERS === '3')
    throw new CommandError(
      'three brokers need Kafka on this machine: leave KAFKA_BROKERS and TEST_SERVICES unset, or do not ask for --brokers 3',
    );
  if (!isLocal) return { brokers: 1, hasPassword: false, ca: undefined };
  const brokers = brokerCount(home, config.LOCAL_KAFKA_BROKERS);
  if (brokers === 1) {
    // What a start of three brokers left that ended before their first log: they would be counted.
    removeKafkaCertificates(home);
    return { brokers, hasPassword: config.LOCAL_KAFKA_SASL, ca: undefined };
  }
  await ensureKafkaCertificates(home);
  return { brokers, hasPassword: true, ca: kafkaCertificates(home).ca };
}

/** How many ClickHouse servers to run. Throws CommandError when it cannot be so many. */
function countShards(
  home: Home,
  { config, env }: { config: LocalSettings; env: NodeJS.ProcessEnv },
): number {
  const isLocal = config.TEST_SERVICES === 'local' && (env['CLICKHOUSE_URL']?.trim() ?? '') === '';
  if (isLocal) return shardCount(home, config.LOCAL_CLICKHOUSE_SHARDS);
  if (config.LOCAL_CLICKHOUSE_SHARDS === '2')
    throw new CommandError(
      'two shards need ClickHouse on this machine: leave CLICKHOUSE_URL and TEST_SERVICES unset, or unset LOCAL_CLICKHOUSE_SHARDS',
    );
  return 1;
}

/**
 * Reads all settings of all services, so that bad values fail the start together. Returns the
 * variables that each service reads.
 */
async function checkSettings(env: NodeJS.ProcessEnv): Promise<StackPlan['settings']> {
  const problems = new Set<string>();
  const check = (read: () => unknown) => {
    try {
      read();
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      for (const problem of error.problems) problems.add(problem);
    }
  };
  check(() => loadConfig(env));
  check(() => loadExternal(env));
  check(() => parseSettings(listeners, env));
  const services = await serviceSettings();
  for (const { table, problemsOf } of services)
    check(() => {
      const config = parseSettings(table, env);
      const found = problemsOf?.(config as never) ?? [];
      if (found.length > 0) throw new SettingsError(found);
    });
  if (problems.size > 0) throw new SettingsError([...problems]);
  return Object.fromEntries(services.map(({ reader, table }) => [reader, variablesOf(table)]));
}

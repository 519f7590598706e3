import { join } from 'node:path';
import { sealingSettings } from '../../../platform/sealing-settings.ts';
import {
  clickhouseSettings,
  kafkaSettings,
  migrationUrlSettings,
  postgresSettings,
  topicSettings,
} from '../../../platform/settings-common.ts';
import { settings as gatewaySettings } from '../../../ingest-gateway/config.ts';
import { variablesOf, type SettingsTable } from '../../../platform/settings.ts';
import { sandboxAddresses } from '../../sandbox/config.ts';
import { panelSettings } from '../../../control-plane/config.ts';
import { settingsFor } from '../process-environment.ts';
import type { Step } from './service.ts';

interface StepRow {
  name: string;
  title: string;
  needs: readonly string[];
  /** In deploy/local/setup. */
  script: string;
  /** What the script reads. */
  settings: SettingsTable;
}

/** What runs at each `up` before the services start. Each script is idempotent. */
const rows: readonly StepRow[] = [
  {
    name: 'topics',
    title: 'topics',
    needs: ['kafka', 'migrate-postgres'],
    script: 'topics.ts',
    settings: { ...kafkaSettings, ...postgresSettings, ...topicSettings },
  },
  {
    name: 'migrate-clickhouse',
    title: 'ClickHouse migrations',
    needs: ['clickhouse'],
    script: 'migrate-clickhouse.ts',
    settings: { ...clickhouseSettings, ...migrationUrlSettings },
  },
  {
    name: 'migrate-postgres',
    title: 'PostgreSQL migrations',
    needs: ['postgres'],
    script: 'migrate-postgres.ts',
    settings: postgresSettings,
  },
  {
    name: 'demo-account',
    title: 'demo account',
    needs: ['migrate-postgres'],
    script: 'demo-account.ts',
    settings: { ...postgresSettings, ...sealingSettings, ...sandboxAddresses },
  },
  {
    name: 'build-panel',
    title: 'panel',
    needs: [],
    script: 'build-panel.ts',
    settings: panelSettings,
  },
  {
    name: 'sdk',
    title: 'SDK for browsers',
    needs: [],
    script: '../../../sdk/build.ts',
    settings: { SDK_DIR: gatewaySettings.SDK_DIR },
  },
];

/** What a step reads. */
export function stepSettings(name: string): SettingsTable {
  const row = rows.find((one) => one.name === name);
  if (!row) throw new Error(`there is no step ${name}`);
  return row.settings;
}

const TIMEOUT_MS = 120_000;

export function setupSteps({
  checkout,
  env,
  servers = {},
}: {
  checkout: string;
  /** The settings of the stack; a script gets those that it reads. */
  env: NodeJS.ProcessEnv;
  /** Services by the server that they are together: a step that needs it needs all of them. */
  servers?: Partial<Record<string, readonly string[]>>;
}): Step[] {
  return rows.map(({ script, settings, ...row }) => ({
    ...row,
    needs: row.needs.flatMap((name) => servers[name] ?? [name]),
    timeoutMs: TIMEOUT_MS,
    launch: {
      command: process.execPath,
      args: [join(checkout, 'deploy/local/setup', script)],
      env: {
        RAVAND_HOME: env['RAVAND_HOME'] ?? '',
        ...settingsFor(variablesOf(settings), env),
      },
    },
  }));
}

import { readTopicNamesFrom } from '../platform/kafka/topic-names.ts';
import { createLog, type Log } from '../platform/log.ts';
import { namesOf, topicNamesOf } from '../platform/log/topic-names.ts';
import {
  clickhouseSettings,
  dedupeSettings,
  kafkaSettings,
  migrationUrlSettings,
  postgresSettings,
  processSettings,
  redisSettings,
} from '../platform/settings-common.ts';
import {
  defineSettings,
  parseSettings,
  withValues,
  type SettingsOf,
} from '../platform/settings.ts';
import { CommandError, type CommandContext } from '../cli/command.ts';
import { readJsonFile } from '../cli/json-file.ts';
import { ownBrokerEnv, shardsEnv, type StackPlan } from '../cli/stack/stack-plan.ts';

/** What an operator's command reads of the servers. */
export const operatorSettings = defineSettings({
  LOG_LEVEL: processSettings.LOG_LEVEL,
  ...kafkaSettings,
  ...clickhouseSettings,
  ...migrationUrlSettings,
  ...postgresSettings,
  ...redisSettings,
  ...dedupeSettings,
});

/** The servers that an operator's command connects to. */
export interface OperatorContext {
  settings: Omit<SettingsOf<typeof operatorSettings>, 'CLICKHOUSE_MIGRATION_URL'>;
  /**
   * Admin URL of each service of the local stack, by name; empty when settings name the servers.
   */
  adminUrls: ReadonlyMap<string, string>;
  /** Logs fatal errors only: commands print their own output. */
  log: Log;
}

/**
 * The servers of the stack under RAVAND_HOME, even if only some of them run; without a stack, those
 * that KAFKA_BROKERS and the other settings name.
 */
export function operatorContext(context: Pick<CommandContext, 'home' | 'env'>): OperatorContext {
  const plan = readJsonFile<StackPlan>(context.home.planFile);
  if (plan === undefined && (context.env['KAFKA_BROKERS'] ?? '') === '')
    throw new CommandError(
      'no stack is running here: start it with ./ravand up, or set KAFKA_BROKERS, CLICKHOUSE_URL, DATABASE_URL and REDIS_URL',
    );
  const env = withValues(context.env, { LOG_LEVEL: 'error', ...(plan ? urlsOf(plan) : {}) });
  const adminUrls = new Map(
    Object.entries(plan?.admin_ports ?? {}).map(([name, port]) => [
      name,
      `http://127.0.0.1:${port}`,
    ]),
  );
  const { CLICKHOUSE_MIGRATION_URL, ...given } = parseSettings(operatorSettings, env);
  // Some commands create and exchange tables.
  const settings = {
    ...given,
    CLICKHOUSE_URL: CLICKHOUSE_MIGRATION_URL || given.CLICKHOUSE_URL,
  };
  const log = createLog({ part: 'operate', level: 'fatal' });
  // Without PostgreSQL a command does what it can: few topics are ever replaced.
  readTopicNamesFrom(() =>
    topicNamesOf({ url: settings.DATABASE_URL, log }).catch(() => namesOf(undefined)),
  );
  return { settings, adminUrls, log };
}

function urlsOf(plan: StackPlan): Record<string, string> {
  const own = plan.own.kafka !== undefined;
  return {
    KAFKA_BROKERS: plan.kafka_brokers,
    CLICKHOUSE_URL: plan.clickhouse_url,
    ...(plan.clickhouse_migration_url === undefined
      ? {}
      : { CLICKHOUSE_MIGRATION_URL: plan.clickhouse_migration_url }),
    CLICKHOUSE_DATABASE: plan.clickhouse_database,
    ...shardsEnv(plan),
    DATABASE_URL: plan.database_url,
    REDIS_URL: plan.redis_url,
    ...(own ? ownBrokerEnv(plan) : {}),
  };
}

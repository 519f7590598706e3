import type { CommandContext } from '../../cli/command.ts';

/** The environment with the addresses of the running stack; without a stack, as it is. */
export function stackEnvironment(context: CommandContext): NodeJS.ProcessEnv {
  const ready = context.ready();
  if (!ready) return context.env;
  return {
    EXPORT_DIR: context.home.exports,
    ...context.env,
    DATABASE_URL: ready.database_url,
    KAFKA_BROKERS: ready.kafka_brokers,
    CLICKHOUSE_URL: ready.clickhouse_url,
    CLICKHOUSE_DATABASE: ready.clickhouse_database,
  };
}

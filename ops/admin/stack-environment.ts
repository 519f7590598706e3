import type { CommandContext } from '../../cli/command.ts';
import { withValues } from '../../platform/settings.ts';
import { ownBrokerEnv, shardsEnv } from '../../cli/stack/stack-plan.ts';

/** The environment with the addresses of the running stack; without a stack, as it is. */
export function stackEnvironment(context: CommandContext): NodeJS.ProcessEnv {
  const ready = context.ready();
  if (!ready) return context.env;
  const env = { EXPORT_DIR: context.home.exports, ...ready.outbound, ...context.env };
  return withValues(env, {
    DATABASE_URL: ready.database_url,
    KAFKA_BROKERS: ready.kafka_brokers,
    ...(ready.kafka_login || ready.kafka_ca_file !== undefined ? ownBrokerEnv(ready) : {}),
    CLICKHOUSE_URL: ready.clickhouse_url,
    CLICKHOUSE_DATABASE: ready.clickhouse_database,
    ...shardsEnv(ready),
  });
}

import { join } from 'node:path';

/** What a running stack tells of itself. */
export interface RunningStack {
  database_url: string;
  kafka_brokers: string;
  clickhouse_url: string;
  clickhouse_database: string;
}

/**
 * The environment with the addresses of the stack that runs under `home`; without one, as it is.
 */
export function stackEnvironment({
  home,
  ready,
  env,
}: {
  home: string;
  ready: RunningStack | undefined;
  env: NodeJS.ProcessEnv;
}): NodeJS.ProcessEnv {
  if (!ready) return env;
  return {
    EXPORT_DIR: join(home, 'exports'),
    ...env,
    DATABASE_URL: ready.database_url,
    KAFKA_BROKERS: ready.kafka_brokers,
    CLICKHOUSE_URL: ready.clickhouse_url,
    CLICKHOUSE_DATABASE: ready.clickhouse_database,
  };
}

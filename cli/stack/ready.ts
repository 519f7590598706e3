import type { DemoKeys } from '../../ops/admin/seed-demo.ts';
import type { Home } from './home.ts';
import { readJsonFile } from '../json-file.ts';

/**
 * `$RAVAND_HOME/run/ready.json`: written when the whole stack is ready, removed when it goes down.
 */
export interface Ready {
  ingest_url: string;
  base_url: string;
  panel_url: string;
  clickhouse_url: string;
  clickhouse_database: string;
  kafka_brokers: string;
  redis_url: string;
  database_url: string;
  demo: DemoKeys;
}

export function readReady(home: Home): Ready | undefined {
  return readJsonFile<Ready>(home.readyFile);
}

import { dropShadowTable } from '../../ops/jobs/shadow-table.ts';
import { clickhouse, readyStack } from './stack.ts';

/** Drops `<table>_<suffix>` of the stack under test, on every shard. */
export async function dropShadow(table: string, suffix: string): Promise<void> {
  const ready = readyStack();
  const client = clickhouse(ready);
  const settings = {
    ...{ CLICKHOUSE_CLUSTER: '', CLICKHOUSE_DATABASE: ready.clickhouse_database },
    CLICKHOUSE_SHARDS: ready.clickhouse_shards ?? '',
  };
  try {
    await dropShadowTable({ client, settings, table, suffix });
  } finally {
    await client.close();
  }
}

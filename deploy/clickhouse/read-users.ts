import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shardDatabase } from '../../platform/clickhouse/shards.ts';

/**
 * The rights of a user in users.sql, and on a shard those in shard-users.sql, as statements for a
 * server's configuration.
 */
export function grantsOf(
  user: string,
  { database, isShard = false }: { database: string; isShard?: boolean },
): string[] {
  const files = ['users.sql', ...(isShard ? ['shard-users.sql'] : [])];
  const end = ` TO ${user};`;
  return files
    .flatMap((file) => readFileSync(join(import.meta.dirname, file), 'utf8').split('\n'))
    .filter((line) => line.startsWith('GRANT ') && line.endsWith(end))
    .map((line) =>
      line
        .slice(0, -end.length)
        .replace(' ON ravand.*', ` ON ${database}.*`)
        .replace(' ON ravand_shard.*', ` ON ${shardDatabase(database)}.*`),
    );
}

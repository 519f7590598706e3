import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { requireOneShard } from '../../../platform/clickhouse/one-shard.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ServiceProcess } from '../../support/service-process.ts';
import { eventually } from '../../support/stack.ts';
import { startOwnClickhouse, type OwnServer } from '../sink/own-servers.ts';

const replica = '<replica><host>127.0.0.1</host><port>9000</port></replica>';
const shard = (replicas: number) => `<shard>${replica.repeat(replicas)}</shard>`;
const CLUSTERS = `<remote_servers><one>${shard(2)}</one><two>${shard(1)}${shard(1)}</two></remote_servers>`;

describe('a ClickHouse cluster', () => {
  let server: OwnServer & { close(): Promise<void> };
  beforeAll(async () => {
    server = await startOwnClickhouse(CLUSTERS);
  }, 60_000);
  afterAll(() => server.close());

  const settingsOf = (cluster: string) =>
    parseSettings(clickhouseSettings, { CLICKHOUSE_URL: server.url, CLICKHOUSE_CLUSTER: cluster });

  it('of several shards is refused with the reason, one of several replicas is not', async () => {
    const client = connectClickhouse({ settings: settingsOf(''), name: 'test', database: '' });
    try {
      await requireOneShard(client, 'one');
      await expect(requireOneShard(client, 'two')).rejects.toThrow(
        'CLICKHOUSE_CLUSTER=two has 2 shards: only clusters of one shard are supported',
      );
    } finally {
      await client.close();
    }
  });

  it('of several shards is not migrated', async () => {
    await expect(migrateClickhouse(settingsOf('two'), [])).rejects.toThrow('has 2 shards');
  });

  it('of several shards ends a service that uses it', async () => {
    const service = new ServiceProcess('projections/catalogue/main.ts', {
      env: { CLICKHOUSE_URL: server.url, CLICKHOUSE_CLUSTER: 'two', KAFKA_INSTANCE_ID: '' },
    });
    await eventually({ ms: 30_000, waitingFor: 'the service to end' }, () =>
      Promise.resolve(service.exitCode ?? undefined),
    );
    expect(service.exitCode).toBe(1);
    expect(service.log).toContain('has 2 shards');
  });
});

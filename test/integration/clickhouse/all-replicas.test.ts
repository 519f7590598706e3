import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { onAllReplicas, QUORUM_INSERT } from '../../../platform/clickhouse/replicas.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { clickhouseEventsTable } from '../../../projections/events/events-table.ts';
import type { EncodedRow } from '../../../projections/events/decode.ts';
import { startOwnClickhouse, type OwnServer } from '../sink/own-servers.ts';

/**
 * One server with one table stands for both replicas: the cluster names it twice, or with a second
 * replica that nobody serves. Replication itself needs a Keeper, which is not available here.
 */
const replica = (port: string) => `<replica><host>127.0.0.1</host><port>${port}</port></replica>`;
const own = replica('9000');
const CLUSTERS = `<remote_servers><up><shard>${own}</shard></up><down><shard>${own}${replica('1')}</shard></down></remote_servers>`;

describe('the read-back of the sink on a cluster', () => {
  let server: OwnServer & { close(): Promise<void> };
  let client: ClickHouseClient;
  beforeAll(async () => {
    server = await startOwnClickhouse(CLUSTERS);
    client = connectClickhouse({
      settings: parseSettings(clickhouseSettings, {
        CLICKHOUSE_URL: server.url,
        CLICKHOUSE_DATABASE: 'default',
      }),
      name: 'test',
    });
    await client.command({
      query: `CREATE TABLE events_local (_epoch UInt16, _partition UInt16, _offset UInt64, _index UInt32, account_id UInt64, event String, timestamp DateTime64(3, 'UTC')) ENGINE = MergeTree ORDER BY (account_id, event)`,
    });
    await client.command({
      query: `INSERT INTO events_local VALUES (0, 1, 5, 0, 7, 'x', fromUnixTimestamp64Milli(1000, 'UTC'))`,
    });
  }, 60_000);
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  const row = {
    ...{ account_id: 7, event: 'x', timestamp: 1000 },
    position: { epoch: 0, partition: 1, offset: 5, index: 0 },
  } as unknown as EncodedRow;

  it('asks the tables of all replicas, not the distributed table', async () => {
    const query = `SELECT count() FROM ${onAllReplicas('events', 'up')}`;
    const answer = await client.query({ query, format: 'JSONCompactEachRow' });
    expect(await answer.json()).toEqual([[1]]);
    const { keys } = await clickhouseEventsTable({ client, cluster: 'up' }).stored(1, [row]);
    expect(keys.size).toBe(1);
  });

  it('fails while a replica does not answer: it may have the rows', async () => {
    const table = clickhouseEventsTable({ client, cluster: 'down' });
    await expect(table.stored(1, [row])).rejects.toThrow();
  });

  it('uses settings that the server knows', async () => {
    const names = Object.keys(QUORUM_INSERT);
    const answer = await client.query({
      query: `SELECT count() FROM system.settings WHERE name IN {names:Array(String)}`,
      query_params: { names },
      format: 'JSONCompactEachRow',
    });
    expect(await answer.json()).toEqual([[names.length]]);
  });
});

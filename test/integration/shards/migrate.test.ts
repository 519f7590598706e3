import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { watchShards } from '../../../platform/clickhouse/one-shard.ts';
import { eachShard, onAccount } from '../../../platform/clickhouse/shards.ts';
import { createLog } from '../../../platform/log.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';
import { rows } from '../../support/stack.ts';
import { openTwoShards, settingsOf, type TwoShards } from './two-shards.ts';

let shards: TwoShards;
let client: ClickHouseClient;
beforeAll(async () => {
  shards = await openTwoShards();
  ({ client } = shards);
}, 300_000);
afterAll(() => shards.close());

/** As a service starts, and as a migration does. */
const starts = (settings: TwoShards['settings']) => [
  () =>
    watchShards({
      ...{ settings, log: createLog({ part: 'test', level: 'fatal' }) },
      signal: AbortSignal.timeout(20_000),
    }),
  () => migrateClickhouse(settings, ddlFolders()),
];
const hosts = () => shards.servers.map(({ url }) => new URL(url).host);
const login = () => shards.url.slice(0, shards.url.indexOf('@') + 1);

describe('ClickHouse of two shards', () => {
  it('holds an account on one shard whole, where its statements find it', async () => {
    const values = [1, 2, 3, 4].map((account_id) => ({ account_id, name: `n${account_id}` }));
    await client.insert({ table: 'identities_flat', values, format: 'JSONEachRow' });
    const query = 'SELECT account_id AS id FROM identities_flat ORDER BY id';
    const each = eachShard(client).map((shard) => rows(shard, query));
    expect(await Promise.all(each)).toEqual([
      [{ id: 2 }, { id: 4 }],
      [{ id: 1 }, { id: 3 }],
    ]);
    expect(await rows(client, query)).toHaveLength(4);
    expect(await rows(onAccount(client, 3), query)).toEqual([{ id: 1 }, { id: 3 }]);
  });

  it('refuses a join of Distributed tables: it would ask every shard for every row', async () => {
    const join = `SELECT count() FROM profiles WHERE (account_id, name) IN (SELECT account_id, name FROM identities_flat)`;
    await expect(rows(client, join)).rejects.toThrow(/distributed_product_mode/);
    expect(await rows(onAccount(client, 3), join)).toHaveLength(1);
  });

  it('has every table of an account as a Distributed table, with its columns as they are now', async () => {
    const missing = `SELECT table, name FROM system.columns WHERE database = currentDatabase()
      AND table IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'account_id')
      AND table NOT IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View')
      AND (table, name) NOT IN (SELECT table, name FROM system.columns WHERE database = 'ravand')`;
    for (const shard of eachShard(client)) {
      expect(await rows(shard, missing)).toEqual([]);
      await shard.command({ query: 'ALTER TABLE events ADD COLUMN added String' });
      expect(await rows(shard, missing)).toEqual([{ table: 'events', name: 'added' }]);
    }
    for (const start of starts(shards.settings)) await start();
    for (const shard of eachShard(client)) expect(await rows(shard, missing)).toEqual([]);
  });
});

describe('a start is refused', () => {
  it('when the hosts are not in the order of the shards', async () => {
    const url = `${login()}${hosts().toReversed().join(',')}`;
    for (const start of starts(settingsOf(shards, url)))
      await expect(start()).rejects.toThrow(
        /is shard 2 of 2, and CLICKHOUSE_URL names it as 1 of 2/,
      );
  });

  it('when the cluster has another number of shards, or is not known', async () => {
    const [one, two] = hosts();
    for (const start of starts(settingsOf(shards, `${login()}${one},${two},${two}`)))
      await expect(start()).rejects.toThrow(/CLICKHOUSE_URL names 3 hosts/);
    for (const start of starts({ ...shards.settings, CLICKHOUSE_SHARDS: 'other' }))
      await expect(start()).rejects.toThrow(/knows no cluster CLICKHOUSE_SHARDS=other/);
  });

  it('when a shard has replicas, which no test has run', async () => {
    for (const start of starts({ ...shards.settings, CLICKHOUSE_SHARDS: 'own_replicas' }))
      await expect(start()).rejects.toThrow(/has 2 servers of weight 1, 2 servers of weight 1/);
  });

  it('when the cluster lists the shards in another order than CLICKHOUSE_URL', async () => {
    const settings = { ...shards.settings, CLICKHOUSE_SHARDS: 'own_reversed' };
    const fresh = { ...settings, CLICKHOUSE_DATABASE: 'fresh' };
    await expect(migrateClickhouse(fresh, ddlFolders())).rejects.toThrow(
      /shard \d of the cluster own_reversed .* is the server that CLICKHOUSE_URL names as \d/,
    );
  });

  it('when a server has the tables of an installation without shards', async () => {
    const [shard] = eachShard(client);
    await shard?.command({ query: 'CREATE DATABASE alone' });
    await shard?.command({
      query: 'CREATE TABLE alone.events (account_id UInt64) ENGINE = MergeTree ORDER BY ()',
    });
    const settings = { ...shards.settings, CLICKHOUSE_DATABASE: 'alone' };
    await expect(migrateClickhouse(settings, ddlFolders())).rejects.toThrow(
      /has the table alone.events of an installation without shards/,
    );
  });
});

import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eachShard } from '../../../platform/clickhouse/shards.ts';
import { FULL, readyStack, rows } from '../../support/stack.ts';
import { killAtRandom, killed, Traffic } from '../sink/kill-at-random.ts';
import { startOwnShardServers } from '../sink/own-servers.ts';
import { SinkUnderTest } from '../sink/sink-under-test.ts';

/** In turns: of three, one is of a server. */
const KILLS = FULL ? 30 : 3;

describe('each row is on its shard exactly once', () => {
  let sink: SinkUnderTest;
  let servers: Awaited<ReturnType<typeof startOwnShardServers>>;
  beforeAll(async () => {
    servers = await startOwnShardServers();
    sink = await SinkUnderTest.open(readyStack().kafka_brokers, Promise.resolve(servers));
  }, 300_000);
  afterAll(() => sink.close());

  it(
    'after kill -9 of the sink, of either shard and of PostgreSQL at random instants',
    async () => {
      const [one, two] = servers.shards;
      if (!one || !two) throw new Error('two shards were expected');
      const traffic = new Traffic(sink);
      const child = await killAtRandom(sink, {
        kills: KILLS,
        servers: [two, one, servers.postgres],
      });
      const expected = await traffic.stop();
      const all = { stored: expected, places: expected };
      expect(await sink.untilStored(expected, 100_000)).toEqual(all);
      await killed(child);
      expect(await Promise.all(eachShard(sink.clickhouse).map(accountsOf))).toEqual([
        [2, 4],
        [1, 3],
      ]);
    },
    FULL ? 900_000 : 300_000,
  );
});

async function accountsOf(shard: ClickHouseClient): Promise<number[]> {
  const found = await rows<{ id: number }>(
    shard,
    'SELECT DISTINCT account_id AS id FROM events ORDER BY id',
  );
  return found.map(({ id }) => id);
}

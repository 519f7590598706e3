import { describe, expect, it } from 'vitest';
import { shadowTableStatements } from './shadow-table.ts';

describe('a shadow table', () => {
  it('has the definition of the live table under another name', () => {
    const created = [
      'CREATE TABLE ravand.events (`a` UInt8) ENGINE = MergeTree ORDER BY a TTL d + toIntervalDay(400) SETTINGS x = 1',
    ];
    expect(
      shadowTableStatements({ created, table: 'events', suffix: 'v2', cluster: '', path: 'x1' }),
    ).toEqual([
      'CREATE TABLE IF NOT EXISTS ravand.events_v2 (`a` UInt8) ENGINE = MergeTree ORDER BY a TTL d + toIntervalDay(400) SETTINGS x = 1',
    ]);
  });

  it('has its own replication path and Distributed table on a cluster', () => {
    const created = [
      "CREATE TABLE ravand.events_local (`a` UInt8) ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/ravand/events', '{replica}') ORDER BY a",
      "CREATE TABLE ravand.events (`a` UInt8) ENGINE = Distributed('all', 'ravand', 'events_local', _person)",
    ];
    expect(
      shadowTableStatements({ created, table: 'events', suffix: 'v2', cluster: 'all', path: 'x1' }),
    ).toEqual([
      "CREATE TABLE IF NOT EXISTS ravand.events_v2_local ON CLUSTER 'all' (`a` UInt8) ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/ravand/events_v2_x1', '{replica}') ORDER BY a",
      "CREATE TABLE IF NOT EXISTS ravand.events_v2 ON CLUSTER 'all' (`a` UInt8) ENGINE = Distributed('all', 'ravand', 'events_v2_local', _person)",
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { adaptToCluster } from './cluster.ts';

const cluster = { CLICKHOUSE_CLUSTER: 'c', CLICKHOUSE_DATABASE: 'd' };
const create =
  'CREATE TABLE IF NOT EXISTS t (a UInt64, _person UInt64)\nENGINE = ReplacingMergeTree(a)\nORDER BY a\nSETTINGS non_replicated_deduplication_window = 100';

describe('a statement for a cluster', () => {
  it('is unchanged when there is no cluster', () => {
    expect(adaptToCluster(create, { ...cluster, CLICKHOUSE_CLUSTER: '' })).toEqual([create]);
  });

  it('makes a replicated table with a distributed one over it, which keep insert tokens for 30 days', () => {
    expect(adaptToCluster(create, cluster)).toEqual([
      "CREATE TABLE IF NOT EXISTS t_local ON CLUSTER 'c' (a UInt64, _person UInt64)\nENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/d/t', '{replica}', a)\n" +
        'ORDER BY a\nSETTINGS replicated_deduplication_window = 100, replicated_deduplication_window_seconds = 2592000',
      "CREATE TABLE IF NOT EXISTS t ON CLUSTER 'c' AS t_local ENGINE = Distributed('c', 'd', 't_local', _person)",
    ]);
  });

  it('changes settings and TTL of the replicated table', () => {
    expect(adaptToCluster('ALTER TABLE t MODIFY SETTING x = 1', cluster)).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' MODIFY SETTING x = 1",
    ]);
    expect(adaptToCluster('ALTER TABLE t MODIFY TTL d + 1 DELETE', cluster)).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' MODIFY TTL d + 1 DELETE",
    ]);
  });

  it('changes codecs of the table that has parts', () => {
    expect(
      adaptToCluster(
        'ALTER TABLE t MODIFY COLUMN a CODEC(T64), MODIFY COLUMN b CODEC(LZ4)',
        cluster,
      ),
    ).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' MODIFY COLUMN a CODEC(T64), MODIFY COLUMN b CODEC(LZ4)",
    ]);
  });

  it('adds a column to both tables, and an index to the one that has parts', () => {
    const column = 'ALTER TABLE t ADD COLUMN IF NOT EXISTS c String CODEC(ZSTD(1))';
    expect(adaptToCluster(column, cluster)).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' ADD COLUMN IF NOT EXISTS c String CODEC(ZSTD(1))",
      "ALTER TABLE t ON CLUSTER 'c' ADD COLUMN IF NOT EXISTS c String CODEC(ZSTD(1))",
    ]);
    expect(adaptToCluster('ALTER TABLE t MATERIALIZE COLUMN c', cluster)).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' MATERIALIZE COLUMN c",
    ]);
    const index = 'ALTER TABLE t ADD INDEX IF NOT EXISTS i c TYPE minmax GRANULARITY 1';
    expect(adaptToCluster(index, cluster)).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' ADD INDEX IF NOT EXISTS i c TYPE minmax GRANULARITY 1",
    ]);
    expect(adaptToCluster('ALTER TABLE t MATERIALIZE INDEX i', cluster)).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' MATERIALIZE INDEX i",
    ]);
  });

  it('adds a projection to the table that has parts', () => {
    const projection = 'ALTER TABLE t ADD PROJECTION IF NOT EXISTS p (SELECT a ORDER BY a)';
    expect(adaptToCluster(projection, cluster)).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' ADD PROJECTION IF NOT EXISTS p (SELECT a ORDER BY a)",
    ]);
    expect(adaptToCluster('ALTER TABLE t MATERIALIZE PROJECTION p', cluster)).toEqual([
      "ALTER TABLE t_local ON CLUSTER 'c' MATERIALIZE PROJECTION p",
    ]);
  });

  it('runs on every server otherwise', () => {
    expect(adaptToCluster('CREATE OR REPLACE VIEW v AS SELECT 1', cluster)).toEqual([
      "CREATE OR REPLACE VIEW v ON CLUSTER 'c' AS SELECT 1",
    ]);
  });
});

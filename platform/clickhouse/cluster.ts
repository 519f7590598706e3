import type { ClickhouseSettings } from './client.ts';

/**
 * Turns a statement for one server into what a cluster runs: on a cluster, `CREATE TABLE t … ENGINE = XMergeTree(…)` becomes a Replicated table
 * `t_local ON CLUSTER` and a Distributed table `t` over it; other statements get ON CLUSTER. Without a cluster the statement stays as it is.
 */
export function adaptToCluster(statement: string, settings: Pick<ClickhouseSettings, 'CLICKHOUSE_CLUSTER' | 'CLICKHOUSE_DATABASE'>): string[] {
  const { CLICKHOUSE_CLUSTER: cluster, CLICKHOUSE_DATABASE: database } = settings;
  if (cluster === '') return [statement];
  const create = /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement);
  const engine = /ENGINE = (\w*MergeTree)(\(([^)]*)\))?/.exec(statement);
  const name = create?.[1];
  if (name !== undefined && engine) {
    const path = `'/clickhouse/tables/{shard}/${database}/${name}', '{replica}'`;
    const rest = engine[3]?.trim() ?? '';
    const local = statement
      .replace(`CREATE TABLE IF NOT EXISTS ${name}`, `CREATE TABLE IF NOT EXISTS ${name}_local ON CLUSTER '${cluster}'`)
      .replace(engine[0], `ENGINE = Replicated${engine[1] ?? ''}(${path}${rest === '' ? '' : `, ${rest}`})`)
      .replace('non_replicated_deduplication_window', 'replicated_deduplication_window');
    const over = `CREATE TABLE IF NOT EXISTS ${name} ON CLUSTER '${cluster}' AS ${name}_local ENGINE = Distributed('${cluster}', '${database}', '${name}_local', ${shardKey(statement)})`;
    return [local, over];
  }
  return [
    statement.replace(
      /^((?:CREATE|ALTER|DROP) (?:OR REPLACE )?(?:TABLE|VIEW|MATERIALIZED VIEW|DICTIONARY)(?: IF (?:NOT )?EXISTS)? \w+)/,
      `$1 ON CLUSTER '${cluster}'`,
    ),
  ];
}

/** People stay on one shard, so that reports need no second pass: the person where the table has one. */
function shardKey(statement: string): string {
  return /\b_person\b/.test(statement) ? '_person' : 'rand()';
}

import type { ClickhouseSettings } from './client.ts';

/**
 * Adapts a statement for one server to a cluster: `CREATE TABLE t … ENGINE = XMergeTree(…)` becomes
 * a Replicated table `t_local ON CLUSTER` and a Distributed table `t` over it, settings, TTL,
 * codecs, indices and projections of `t` apply to `t_local`, new columns to both, and other
 * statements get ON CLUSTER.
 * Without a cluster the statement is unchanged.
 */
export function adaptToCluster(
  statement: string,
  settings: Pick<ClickhouseSettings, 'CLICKHOUSE_CLUSTER' | 'CLICKHOUSE_DATABASE'>,
): string[] {
  const { CLICKHOUSE_CLUSTER: cluster, CLICKHOUSE_DATABASE: database } = settings;
  if (cluster === '') return [statement];
  const create = /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement);
  const engine = /ENGINE = (\w*MergeTree)(\(([^)]*)\))?/.exec(statement);
  const name = create?.[1];
  if (name !== undefined && engine) {
    const path = `'/clickhouse/tables/{shard}/${database}/${name}', '{replica}'`;
    const rest = engine[3]?.trim() ?? '';
    const local = statement
      .replace(
        `CREATE TABLE IF NOT EXISTS ${name}`,
        `CREATE TABLE IF NOT EXISTS ${name}_local ON CLUSTER '${cluster}'`,
      )
      .replace(
        engine[0],
        `ENGINE = Replicated${engine[1] ?? ''}(${path}${rest === '' ? '' : `, ${rest}`})`,
      )
      // A replicated table also drops deduplication tokens by age.
      .replace(
        /non_replicated_(deduplication_window) = (\d+)/,
        `replicated_$1 = $2, replicated_$1_seconds = ${TOKEN_SECONDS}`,
      );
    const over = `CREATE TABLE IF NOT EXISTS ${name} ON CLUSTER '${cluster}' AS ${name}_local ENGINE = Distributed('${cluster}', '${database}', '${name}_local', ${shardKey(statement)})`;
    return [local, over];
  }
  const altered =
    /^ALTER TABLE (\w+) (MODIFY SETTING|MODIFY TTL|MODIFY COLUMN(?= \w+ CODEC)|(?:ADD|MATERIALIZE) (?:INDEX|PROJECTION)|MATERIALIZE COLUMN|ADD COLUMN) /.exec(
      statement,
    );
  if (altered?.[1] !== undefined) {
    const [, table, change] = altered;
    const on = (name: string) => statement.replace(table, `${name} ON CLUSTER '${cluster}'`);
    return [on(`${table}_local`), ...(change === 'ADD COLUMN' ? [on(table)] : [])];
  }
  return [
    statement.replace(
      /^((?:CREATE|ALTER|DROP) (?:OR REPLACE )?(?:TABLE|VIEW|MATERIALIZED VIEW|DICTIONARY)(?: IF (?:NOT )?EXISTS)? \w+)/,
      `$1 ON CLUSTER '${cluster}'`,
    ),
  ];
}

/** 30 days: a sink that repeats an insert does so much earlier. */
const TOKEN_SECONDS = 30 * 86_400;

/** The rows of a person are on one shard, so that reports need no second pass. */
function shardKey(statement: string): string {
  return /\b_person\b/.test(statement) ? '_person' : 'rand()';
}

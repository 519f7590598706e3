import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../../../cli/command.ts';
import type { Home } from '../../../cli/stack/home.ts';
import type { OwnServers, OwnShard } from '../../../cli/stack/stack-plan.ts';

/** The numbers of ClickHouse servers that a stack can have. */
export const SHARD_COUNTS = ['1', '2'] as const;

/** CLICKHOUSE_SHARDS of a stack with several shards of its own. */
export const LOCAL_SHARDS = 'local_shards';

/** Names of the services by position, and of their files: clickhouse, clickhouse-2. */
export function shardName(index: number): string {
  return index === 0 ? 'clickhouse' : `clickhouse-${index + 1}`;
}

/** The shards that a stack runs, in their order; none when one server holds everything. */
export function ownShards({ clickhouse }: Pick<OwnServers, 'clickhouse'>): readonly OwnShard[] {
  return clickhouse?.shards ?? [];
}

/**
 * How many shards a home has: those that it was made with, or the number that is wanted for a new
 * one; '' is no wish. Throws CommandError when the two differ: where accounts lie is decided once.
 */
export function shardCount(
  { data, dir }: Pick<Home, 'data' | 'dir'>,
  wanted: '' | (typeof SHARD_COUNTS)[number],
): number {
  const has = SHARD_COUNTS.filter((_, index) => existsSync(join(data, shardName(index)))).length;
  if (has === 0) return Number(wanted === '' ? '1' : wanted);
  if (wanted !== '' && Number(wanted) !== has)
    throw new CommandError(
      `${dir} was made with ${has} ClickHouse ${has === 1 ? 'server' : 'servers'}, which cannot change: start it without LOCAL_CLICKHOUSE_SHARDS, use another RAVAND_HOME, or delete its data with ./ravand reset`,
    );
  return has;
}

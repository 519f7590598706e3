import { offsetAfter, type EpochStart } from '../../platform/log/epochs.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { LIVE_SCHEMA, type ChannelPosition } from './write-batch.ts';

/** Up to where a partition is applied; undefined: nothing of it was. */
export async function readPosition(
  database: Pick<Database, 'query'>,
  partition: number,
  schema = LIVE_SCHEMA,
): Promise<ChannelPosition | undefined> {
  const { rows } = await database.query<{ epoch: number; next_offset: string }>(
    `SELECT epoch, next_offset FROM ${schema}.channel_positions WHERE partition = $1`,
    [partition],
  );
  return rows[0] && { epoch: rows[0].epoch, next: Number(rows[0].next_offset) };
}

/**
 * The first offset that is not applied. Where the log went back since, the records of the new epoch
 * have offsets below the position.
 */
export function firstUnapplied(
  starts: readonly EpochStart[],
  position: ChannelPosition | undefined,
): number {
  if (!position) return 0;
  return offsetAfter(starts, { epoch: position.epoch, offset: position.next - 1 });
}

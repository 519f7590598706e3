import type { Database } from '../postgres/pool.ts';
import { sharedRead } from '../shared-read.ts';

/** From `firstOffset` on, the records of the partition belong to `epoch` or a later one. */
export interface EpochStart {
  /** At least 1: everything before the first start is in epoch 0. */
  epoch: number;
  firstOffset: number;
  /** It began at the end of the log, when the topic grew: no earlier record had these offsets. */
  replacesNothing?: boolean;
}

/**
 * The epoch of the record at `offset`: the highest one that begins at or below it. A later epoch
 * may begin below an earlier one (the log went back): it replaces everything from there on.
 */
export function epochAt(starts: readonly EpochStart[], offset: number): number {
  let found = 0;
  for (const { epoch, firstOffset } of starts)
    if (firstOffset <= offset && epoch > found) found = epoch;
  return found;
}

/**
 * The epoch of the record at `offset` in the log as it was until the next epoch after `epoch` that
 * replaced records. What was derived from the record then names its offset only: when a log goes
 * back, one number begins in the raw partition and in the topics that are derived from it. A growth
 * begins an epoch in the raw partition alone, which replaces nothing.
 */
export function epochAsOf(starts: readonly EpochStart[], offset: number, epoch: number): number {
  const replaced = starts.filter((start) => start.epoch > epoch && start.replacesNothing !== true);
  const until = Math.min(...replaced.map((start) => start.epoch));
  return epochAt(
    starts.filter((start) => start.epoch < until),
    offset,
  );
}

/**
 * The first offset whose record comes after a position, in the order of positions: a record of a
 * later epoch may have a lower offset.
 */
export function offsetAfter(
  starts: readonly EpochStart[],
  { epoch, offset }: { epoch: number; offset: number },
): number {
  const later = starts.filter((start) => start.epoch > epoch).map((start) => start.firstOffset);
  return Math.min(offset + 1, ...later);
}

/** The epochs of every partition of one topic. */
export class TopicEpochs {
  readonly #starts: ReadonlyMap<number, readonly EpochStart[]>;

  constructor(starts: ReadonlyMap<number, readonly EpochStart[]>) {
    this.#starts = starts;
  }

  /** The epochs of one partition, lowest first. */
  of(partition: number): readonly EpochStart[] {
    return this.#starts.get(partition) ?? [];
  }

  /** The epoch of the record at `offset` of the partition. */
  at(partition: number, offset: number): number {
    return epochAt(this.of(partition), offset);
  }

  /** The epoch of the records that the partition gets now. */
  newest(partition: number): number {
    return epochAt(this.of(partition), Number.POSITIVE_INFINITY);
  }
}

/** Reason of an epoch from whose first offset on the records are other ones than before. */
export const WENT_BACK = 'the log went back';

const READ =
  'SELECT partition, epoch, first_offset, reason FROM log_epochs WHERE topic = $1 ORDER BY epoch';

/** Reads the epochs of a topic. Rejects without PostgreSQL. */
export function readEpochs(database: Pick<Database, 'query'>, topic: string): Promise<TopicEpochs> {
  return sharedRead(database, `epochs of ${topic}`, () => read(database, topic));
}

async function read(database: Pick<Database, 'query'>, topic: string): Promise<TopicEpochs> {
  const { rows } = await database.query<{
    partition: number;
    epoch: number;
    first_offset: string;
    reason: string;
  }>(READ, [topic]);
  const byPartition = Map.groupBy(rows, ({ partition }) => partition);
  return new TopicEpochs(
    new Map(
      [...byPartition].map(([partition, own]) => [
        partition,
        own.map(({ epoch, first_offset, reason }) => ({
          ...{ epoch, firstOffset: Number(first_offset) },
          replacesNothing: reason !== WENT_BACK,
        })),
      ]),
    ),
  );
}

import type { Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted, type RetryContext } from '../../platform/retry-until-aborted.ts';
import type { Range } from './plan.ts';

/** Somebody else owns the partition now: nothing may be inserted for it any more. */
export class OwnershipLost extends Error {
  constructor(partition: number) {
    super(`partition ${partition} has another owner now`);
    this.name = 'OwnershipLost';
  }
}

/**
 * Ownership of one partition: the range about to be inserted is recorded under it. Every call waits
 * for PostgreSQL as long as it takes.
 */
export interface Ownership {
  readonly epoch: number;
  /** The range of the last owner. */
  readonly recorded: Range | undefined;
  /** Rejects with OwnershipLost. Repeating it is harmless. */
  record(range: Range, patience: RetryContext): Promise<void>;
  /** Rejects with OwnershipLost. */
  confirm(patience: RetryContext): Promise<void>;
}

interface Claim {
  database: Database;
  sink: string;
  topic: string;
  partition: number;
  owner: string;
}

type Stored = Record<
  | 'owner_epoch'
  | 'before_epoch'
  | 'before_offset'
  | 'before_index'
  | 'end_epoch'
  | 'end_offset'
  | 'end_index',
  string
> &
  Record<'first_offset' | 'last_offset', string | null>;

// Each statement is complete by itself: the embedded PostgreSQL has one session for all clients.
const CLAIM = `INSERT INTO sink_ranges (sink, topic, partition, owner_epoch, owner) VALUES ($1, $2, $3, 1, $4)
  ON CONFLICT (sink, topic, partition) DO UPDATE SET owner_epoch = sink_ranges.owner_epoch + 1, owner = excluded.owner, updated_at = now()
  RETURNING owner_epoch, first_offset, last_offset, before_epoch, before_offset, before_index, end_epoch, end_offset, end_index`;

const RECORD = `UPDATE sink_ranges SET first_offset = $5, last_offset = $6, before_epoch = $7, before_offset = $8, before_index = $9,
  end_epoch = $10, end_offset = $11, end_index = $12, updated_at = now()
  WHERE sink = $1 AND topic = $2 AND partition = $3 AND owner_epoch = $4`;

const CONFIRM =
  'SELECT 1 FROM sink_ranges WHERE sink = $1 AND topic = $2 AND partition = $3 AND owner_epoch = $4';

/** Becomes the owner of a partition: from now on every other owner's `record` is refused. */
export async function claimPartition(claim: Claim, patience: RetryContext): Promise<Ownership> {
  const { database, sink, topic, partition, owner } = claim;
  const what = {
    ...patience,
    code: 'postgres_unreachable',
    what: 'ownership of a partition in PostgreSQL',
  };
  const row = await retryUntilAborted(
    what,
    async () => (await database.query<Stored>(CLAIM, [sink, topic, partition, owner])).rows[0],
  );
  if (!row) throw new Error('PostgreSQL answered a claim without a row');
  const epoch = Number(row.owner_epoch);
  const mine = [sink, topic, partition, epoch];
  const owned = async (
    statement: string,
    values: readonly unknown[],
    { log, signal }: RetryContext,
  ) => {
    const { rowCount } = await retryUntilAborted({ ...what, log, signal }, () =>
      database.query(statement, [...values]),
    );
    if (rowCount !== 1) throw new OwnershipLost(partition);
  };
  return {
    epoch,
    recorded: rangeOf(row),
    record: ({ first, last, before, end }, waiting) =>
      owned(
        RECORD,
        [
          ...mine,
          first,
          last,
          before.epoch,
          before.offset,
          before.index,
          end.epoch,
          end.offset,
          end.index,
        ],
        waiting,
      ),
    confirm: (waiting) => owned(CONFIRM, mine, waiting),
  };
}

function rangeOf(row: Stored): Range | undefined {
  if (row.first_offset === null || row.last_offset === null) return undefined;
  return {
    first: Number(row.first_offset),
    last: Number(row.last_offset),
    before: {
      epoch: Number(row.before_epoch),
      offset: Number(row.before_offset),
      index: Number(row.before_index),
    },
    end: {
      epoch: Number(row.end_epoch),
      offset: Number(row.end_offset),
      index: Number(row.end_index),
    },
  };
}

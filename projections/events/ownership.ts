import type { Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted, type RetryContext } from '../../platform/retry-until-aborted.ts';
import type { PartitionPosition } from '../../schemas/log-position.ts';
import type { RecordedState, RecordRange } from './plan.ts';

/** Another process owns the partition: this one must not insert any more. */
export class OwnershipLost extends Error {
  constructor(partition: number) {
    super(`partition ${partition} has another owner now`);
    this.name = 'OwnershipLost';
  }
}

/**
 * Ownership of one partition under a fencing epoch. Every call retries until PostgreSQL answers or
 * the signal aborts, and is harmless when repeated.
 */
export interface Ownership {
  readonly epoch: number;
  /** The range that the former owner recorded last. */
  readonly recorded: RecordedState;
  /** Records the range that is about to be inserted. Rejects with OwnershipLost. */
  record(range: RecordRange, unsure: PartitionPosition, retry: RetryContext): Promise<void>;
  /** Rejects with OwnershipLost when the epoch is no longer the newest. */
  confirm(retry: RetryContext): Promise<void>;
}

interface Claim {
  database: Database;
  sink: string;
  topic: string;
  partition: number;
  owner: string;
}

type SinkRangeRow = Record<
  | 'owner_epoch'
  | 'log_epoch'
  | 'unsure_epoch'
  | 'unsure_offset'
  | 'unsure_index'
  | 'before_epoch'
  | 'before_offset'
  | 'before_index'
  | 'end_epoch'
  | 'end_offset'
  | 'end_index',
  string
> &
  Record<'first_offset' | 'last_offset', string | null>;

// Each statement is one transaction: the embedded PostgreSQL shares one session between
// all clients.
const CLAIM = `INSERT INTO sink_ranges (sink, topic, partition, owner_epoch, owner) VALUES ($1, $2, $3, 1, $4)
  ON CONFLICT (sink, topic, partition) DO UPDATE SET owner_epoch = sink_ranges.owner_epoch + 1, owner = excluded.owner, updated_at = now()
  RETURNING owner_epoch, first_offset, last_offset, before_epoch, before_offset, before_index, end_epoch, end_offset, end_index,
    log_epoch, unsure_epoch, unsure_offset, unsure_index`;

/** Never sets the range back: a statement that timed out may be executed after a later one. */
const RECORD = `UPDATE sink_ranges SET first_offset = $5, last_offset = $6, before_epoch = $7, before_offset = $8, before_index = $9,
  end_epoch = $10, end_offset = $11, end_index = $12, log_epoch = $13, unsure_epoch = $14, unsure_offset = $15, unsure_index = $16, updated_at = now()
  WHERE sink = $1 AND topic = $2 AND partition = $3 AND owner_epoch = $4 AND (log_epoch, coalesce(first_offset, -1)) <= ($13, $5)`;

const CONFIRM =
  'SELECT 1 FROM sink_ranges WHERE sink = $1 AND topic = $2 AND partition = $3 AND owner_epoch = $4';

/** Becomes the owner of a partition. From then on `record` of every former owner fails. */
export async function claimPartition(claim: Claim, retry: RetryContext): Promise<Ownership> {
  const { database, sink, topic, partition, owner } = claim;
  const retryPostgres = <T>({ log, signal }: RetryContext, task: () => Promise<T>) =>
    retryUntilAborted(
      {
        log,
        signal,
        code: 'postgres_unreachable',
        what: 'updating the ownership of a partition in PostgreSQL',
      },
      task,
    );
  const row = await retryPostgres(retry, async () => {
    const claimed = await database.query<SinkRangeRow>(CLAIM, [sink, topic, partition, owner]);
    return claimed.rows[0];
  });
  if (!row) throw new Error('PostgreSQL returned no row for a claim');
  const epoch = Number(row.owner_epoch);
  const runAsOwner = async (
    statement: string,
    values: readonly number[],
    context: RetryContext,
  ): Promise<void> => {
    const parameters = [sink, topic, partition, epoch, ...values];
    const { rowCount } = await retryPostgres(context, () => database.query(statement, parameters));
    if (rowCount !== 1) throw new OwnershipLost(partition);
  };
  return {
    epoch,
    recorded: { range: recordedRange(row), unsure: positionOf('unsure', row) },
    record({ epoch: logEpoch, first, last, before, end }, unsure, context) {
      const values = [first, last, ...numbersOf(before), ...numbersOf(end), logEpoch];
      return runAsOwner(RECORD, [...values, ...numbersOf(unsure)], context);
    },
    confirm: (context) => runAsOwner(CONFIRM, [], context),
  };
}

function recordedRange(row: SinkRangeRow): RecordRange | undefined {
  if (row.first_offset === null || row.last_offset === null) return undefined;
  return {
    epoch: Number(row.log_epoch),
    first: Number(row.first_offset),
    last: Number(row.last_offset),
    before: positionOf('before', row),
    end: positionOf('end', row),
  };
}

function positionOf(name: 'before' | 'end' | 'unsure', row: SinkRangeRow): PartitionPosition {
  return {
    epoch: Number(row[`${name}_epoch`]),
    offset: Number(row[`${name}_offset`]),
    index: Number(row[`${name}_index`]),
  };
}

function numbersOf({ epoch, offset, index }: PartitionPosition): number[] {
  return [epoch, offset, index];
}

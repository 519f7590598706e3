import type { Log } from '../../platform/log.ts';
import type { PartitionPosition } from '../../schemas/log-position.ts';
import type { EncodedRow } from '../../projections/events/decode.ts';
import type { EventsTable } from '../../projections/events/events-table.ts';
import { storeOnce } from '../../projections/events/store-once.ts';
import { eventRowCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';

interface WriteOptions {
  eventsTable: EventsTable;
  log: Log;
  signal: AbortSignal;
  ownerEpoch: number;
  /** Rejects when another process has the job. */
  confirm(): Promise<void>;
}

/**
 * Adds rows of one partition exactly once: what runs under the token is ended, what is stored is
 * read back, what is missing goes in, as a sink settles an uncertain range
 * (projections/events/EXACTLY-ONCE.md). The same token always means rows of the same recorded
 * range. Answers how many ClickHouse refuses.
 */
export async function addRows(
  options: WriteOptions,
  batch: { token: string; partition: number; rows: readonly EventRow[] },
): Promise<{ refused: number }> {
  const rows = batch.rows.map(rowOf);
  const { refused } = await storeOnce(
    { ...options, onRecover: () => undefined },
    {
      token: batch.token,
      partition: batch.partition,
      count: rows.length,
      datums: rows.map(({ datum }) => datum),
      rows: () => rows,
    },
    true,
  );
  return { refused: refused.length };
}

function rowOf(row: EventRow): EncodedRow {
  const mark: PartitionPosition = { epoch: row._epoch, offset: row._offset, index: row._index };
  const { account_id, event, message_id, timestamp } = row;
  return {
    position: mark,
    account_id,
    event,
    message_id,
    timestamp,
    datum: eventRowCodec.type.toBuffer(row),
  };
}

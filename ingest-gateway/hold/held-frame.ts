import { resplitRecord } from '../../ingest/resplit.ts';
import type { LogRecord } from '../../ingest/log-record.ts';
import { TOPIC } from '../../schemas/topology.ts';

/** Held raw records carry in place of a key by how many partitions they were split. */
const SPLIT_BY = 'split-by:';

/** A record as it is kept in the held queue. */
export function heldRecord(record: LogRecord, splitBy: number): LogRecord {
  return record.topic === TOPIC.raw ? { ...record, key: `${SPLIT_BY}${splitBy}` } : record;
}

/** The records that a held one becomes, by the number of partitions of now. */
export function releasedRecords(held: LogRecord, partitions: number): LogRecord[] {
  if (held.topic === TOPIC.channelCommands) return [held];
  if (held.topic !== TOPIC.raw) return [{ ...held, partition: held.accountId % partitions }];
  const splitBy = Number(held.key?.startsWith(SPLIT_BY) ? held.key.slice(SPLIT_BY.length) : 0);
  if (splitBy > 0 && splitBy % partitions === 0)
    return [{ ...held, key: null, partition: held.partition % partitions }];
  return resplitRecord({ ...held, key: null }, partitions);
}

import {
  carriedFingerprint,
  eventRowCodec,
  rowBatchCodec,
  UnreadableRecord,
} from '../../schemas/codec.ts';
import type { RowBatch, RowBatchHead } from '../../schemas/records.ts';
import { sliceRowBatch, type EncodedRowBatch } from '../../schemas/row-batch.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { comparePartitionPositions } from '../../schemas/log-position.ts';
import type { Entry } from './plan.ts';

/** Why a record cannot be read; `reason` is a stable code. */
export interface Flaw {
  reason: string;
  detail: string;
}

/** A record of events.normalised: what `plan` looks at, and what the insert is made of. */
export type ReadRecord = { message: ConsumedMessage; entry: Entry } & (
  { run: EncodedRowBatch; flaw?: never } | { flaw: Flaw; run?: never }
);

/**
 * Reads the head of a record. Rows are decoded only when another version of the schema wrote them.
 * Never throws: what cannot be read carries its flaw.
 */
export function readRecord(message: ConsumedMessage): ReadRecord {
  const { offset, value, size } = message;
  try {
    if (!value) throw new UnreadableRecord('not_single_object', 'the record has no value');
    const run = sliceRowBatch(value) ?? rewritten(rowBatchCodec.decode(value));
    const { head } = run;
    const first = { epoch: head.epoch, offset: head.first_offset, index: head.first_index };
    const last = { epoch: head.epoch, offset: head.last_offset, index: head.last_index };
    if (head.partition !== message.partition)
      return flawed(message, 'wrong_partition', `the run is of raw partition ${head.partition}`);
    if (run.count <= 0 || comparePartitionPositions(first, last) > 0)
      return flawed(message, 'broken_run', 'the head of the run contradicts itself');
    return {
      message,
      run,
      entry: {
        kind: 'run',
        offset,
        bytes: size,
        fingerprint: carriedFingerprint(value),
        first,
        last,
        rows: run.count,
      },
    };
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    return flawed(message, error.code, error.message);
  }
}

function flawed(message: ConsumedMessage, reason: string, detail: string): ReadRecord {
  return {
    message,
    flaw: { reason, detail },
    entry: { kind: 'unreadable', offset: message.offset, bytes: message.size },
  };
}

/** The rows of an older version, or of several blocks, as one block of the newest. */
function rewritten(run: RowBatch): EncodedRowBatch {
  const { rows, ...fields } = run;
  const head: RowBatchHead = { ...fields };
  return {
    head,
    count: rows.length,
    rows: Buffer.concat(rows.map((row) => eventRowCodec.type.toBuffer(row))),
  };
}

import { acceptanceHash, gatewaySeed } from '../../events/claims/acceptance.ts';
import { ContextReader } from '../../events/normalise.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import { decideItem } from '../../events/raw/decide.ts';
import { decodeRecord } from '../../events/raw/decode-record.ts';
import { RowBatchBuilder } from '../../pipeline/normalise/row-batch-builder.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';

/** Limits of the normaliser's own runs. */
const ROW_BATCH_LIMITS = { rows: 1000, bytes: 1024 * 1024, rowBytes: 15 * 1024 * 1024 };

const contexts = new ContextReader(new UserAgentCache(1000));

/**
 * What the normaliser of this very version makes of a raw record, without publishing anything.
 * Answers why it would die again, one reason for all of it; undefined when all of its events become
 * rows.
 */
export function tryRecord(
  record: RawRecord,
  partition: number,
): { reason: string; detail: string } | undefined {
  const value = rawRecordCodec.encode(record);
  const decoded = decodeRecord({
    topic: TOPIC.raw,
    partition,
    offset: 0,
    timestamp: record.received_at,
    key: null,
    value,
  });
  if (decoded.state === 'undecodable') return decoded.failure;
  const seed = gatewaySeed(record.gateway);
  const rowBatches = new RowBatchBuilder(ROW_BATCH_LIMITS);
  for (let index = 0; index < record.items.length; index++) {
    const position = { epoch: 0, partition, offset: 0, index };
    const decision = decideItem(
      {
        decoded,
        index,
        position,
        acceptance: acceptanceHash(seed, record.sequence + index),
        resolution: { verdict: 'first' },
      },
      contexts,
    );
    if (decision.kind === 'dead') return decision;
    if (decision.kind !== 'publish') continue;
    try {
      if (rowBatches.add(decision.row, record.received_at) !== 'added')
        return {
          reason: 'row_too_large',
          detail: 'the row is larger than a record of the log may be',
        };
    } catch (error) {
      return {
        reason: 'not_normalisable',
        detail: error instanceof Error ? error.message : String(error),
      };
    }
  }
  return undefined;
}

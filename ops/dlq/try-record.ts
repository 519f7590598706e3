import { decodeRecord } from '../../events/raw/decode-record.ts';
import { claimsToResolve } from '../../events/raw/record-claims.ts';
import { normaliseChunk } from '../../pipeline/normalise/normalise-chunk.ts';
import { rowTools } from '../../pipeline/normalise/row-tools.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';

/** Limits of the normaliser's row batches. */
const ROW_BATCH_LIMITS = { rows: 1000, bytes: 1024 * 1024, rowBytes: 15 * 1024 * 1024 };

const tools = rowTools({ limits: ROW_BATCH_LIMITS, userAgents: 1000 });

/** Normalises without publishing. Returns the first failure, or undefined if all become rows. */
export function tryRecord(
  record: RawRecord,
  partition: number,
): { reason: string; detail: string } | undefined {
  const source = { topic: TOPIC.raw, partition, offset: 0, timestamp: record.received_at };
  const records = [decodeRecord({ ...source, key: null, value: rawRecordCodec.encode(record) })];
  const claims = claimsToResolve(records, () => 0);
  const { deadLetters } = normaliseChunk(
    { records, claims, resolutions: claims.map(() => ({ verdict: 'first' })) },
    { ...tools, now: record.received_at },
  );
  return deadLetters[0];
}

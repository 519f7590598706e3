import { ingestOutcomeCodec, writerOf } from './codec.ts';
import type { IngestOutcome } from './records.ts';

const encodeV1 = writerOf('ingest-outcome', 1);

/** As earlier releases read it, unless it has a balance. */
export function encodeIngestOutcome(outcome: IngestOutcome): Buffer {
  return outcome.balance === null ? encodeV1(outcome) : ingestOutcomeCodec.encode(outcome);
}

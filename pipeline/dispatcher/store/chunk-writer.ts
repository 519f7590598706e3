import { GroupedCalls, isAboutValues } from '../../../platform/grouped-calls.ts';
import type { Log } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../../platform/retry-until-aborted.ts';
import type { ChunkWrite, WriteAnswer } from './chunk-row.ts';
import { writeChunks, type LeaseTerms } from './write-chunks.ts';

/** Writes of one statement. */
const MAX_WRITES = 64;
/** Between two statements, ms: what chunks have to write meanwhile is one statement. */
const INTERVAL_MS = 5;

/**
 * Gathers the writes of all chunks of the process into one statement at a time, and repeats it
 * until it is answered. A write rejects when the process ends, or when PostgreSQL will never accept
 * it.
 */
export function chunkWriter(
  database: Pick<Database, 'query'>,
  { terms, log, signal }: { terms: LeaseTerms; log: Log; signal: AbortSignal },
): (write: ChunkWrite) => Promise<WriteAnswer> {
  const retries = {
    ...{ log, signal, code: 'dispatcher_store', what: 'recording attempts and outcomes' },
    isFinal: isAboutValues,
  };
  const group = new GroupedCalls<ChunkWrite, WriteAnswer>({
    ...{ max: MAX_WRITES, intervalMs: INTERVAL_MS },
    run: (writes) => retryUntilAborted(retries, () => writeChunks(database, writes, terms)),
  });
  return (write) => group.call(write);
}

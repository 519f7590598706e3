import type { DeadLetter } from '../../schemas/records.ts';
import type { DeadLetterRow } from './dead-letter-store.ts';
import { MAX_BATCH, type RedriveTools } from './redrive-tools.ts';

/**
 * Reads dead letters in their order, up to the bytes of a batch, so that they can be prepared all
 * at once. `ready`: those that were read, at least one.
 */
export async function prefetch(
  tools: RedriveTools,
  known: readonly DeadLetterRow[],
): Promise<{ tools: RedriveTools; ready: readonly DeadLetterRow[] }> {
  const read = new Map<string, DeadLetter | undefined>();
  let bytes = 0;
  for (const one of known) {
    if (read.size > 0 && bytes > MAX_BATCH.bytes) break;
    const deadLetter = await tools.deadLetter(one);
    bytes += (deadLetter?.value.length ?? 0) * Math.max(1, deadLetter?.indexes.length ?? 1);
    read.set(one.key, deadLetter);
  }
  return {
    tools: { ...tools, deadLetter: ({ key }) => Promise.resolve(read.get(key)) },
    ready: known.slice(0, read.size),
  };
}

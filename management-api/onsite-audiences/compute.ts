import type { Readable } from 'node:stream';
import { MAX_ACCOUNT_NAMES } from '../../events/channels/onsite/definition.ts';
import { readAudience } from '../../audiences/read.ts';
import type { Audience } from '../../audiences/definition.ts';
import type { AudienceStore, ClaimedAudience } from './audience-store.ts';
import { chunksOf, HASH_BYTES, layoutBits } from './chunks.ts';

/** Reads the hashes of an audience's names: sorted, UInt64 little-endian, at most `limit`. */
export type ReadMembers = (query: {
  accountId: number;
  audience: Audience;
  limit: number;
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
}) => Promise<Readable>;

interface ComputePorts {
  store: Pick<AudienceStore, 'digests' | 'writeChunk' | 'finish'>;
  readMembers: ReadMembers;
  /** Names of all audiences of an account. */
  maxNames?: number;
}

/** What became of a computation. `stale`: another worker computes it. */
export type Computed =
  | { outcome: 'computed'; names: number; written: number }
  | { outcome: 'empty'; reason: 'invalid_definition' | 'too_many_names' }
  | { outcome: 'stale' };

/**
 * Computes the members of an audience and stores the chunks that have changed. An audience beyond
 * the bound of its account has no members, rather than some of them.
 */
export async function computeAudience(
  { claimed, now, signal }: { claimed: ClaimedAudience; now: number; signal: AbortSignal },
  { store, readMembers, maxNames = MAX_ACCOUNT_NAMES }: ComputePorts,
): Promise<Computed> {
  const read = readAudience(claimed.definition);
  const limit = Math.max(0, maxNames - claimed.otherNames);
  const members = read.ok
    ? await readAll(
        await readMembers({
          ...{ accountId: claimed.accountId, audience: read.audience.root },
          ...{ limit: limit + 1, now, signal },
        }),
      )
    : Buffer.alloc(0);
  const isTooMany = members.length / HASH_BYTES > limit;
  const error = read.ok ? (isTooMany ? 'too_many_names' : '') : 'invalid_definition';
  const stored = isTooMany ? Buffer.alloc(0) : members;
  const names = stored.length / HASH_BYTES;
  const bits = layoutBits(names, claimed.bits);
  const known = await store.digests(claimed, bits);
  let written = 0;
  for (const chunk of chunksOf(stored, bits)) {
    if (known.get(chunk.chunk) === chunk.digest) continue;
    signal.throwIfAborted();
    await store.writeChunk(claimed, { ...chunk, bits });
    written++;
  }
  if (!(await store.finish(claimed, { bits, names, computedAt: now, error })))
    return { outcome: 'stale' };
  return error === ''
    ? { outcome: 'computed', names, written }
    : { outcome: 'empty', reason: error };
}

async function readAll(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  const bytes = Buffer.concat(pieces);
  if (bytes.length % HASH_BYTES !== 0)
    throw new Error(`the members of an audience end inside a hash, after ${bytes.length} bytes`);
  return bytes;
}

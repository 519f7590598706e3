import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedAudience, ComputedAudience } from './audience-store.ts';
import type { Chunk } from './chunks.ts';
import { computeAudience } from './compute.ts';

const claimed: ClaimedAudience = {
  ...{ accountId: 7, audience: 'a', definition: { trait: 'vip', op: 'is_set' } },
  ...{ bits: undefined, otherNames: 0, attempt: '1' },
};

let chunks: Map<string, Chunk>;
let written: number[];
let finished: ComputedAudience[];
let members: Buffer;
let limits: number[];
let isHeld: boolean;

beforeEach(() => {
  chunks = new Map();
  [written, finished, limits] = [[], [], []];
  members = names(1n, 2n, 2n ** 63n);
  isHeld = true;
});

function names(...hashes: bigint[]): Buffer {
  const bytes = Buffer.alloc(hashes.length * 8);
  hashes.forEach((hash, at) => bytes.writeBigUInt64LE(hash, at * 8));
  return bytes;
}

const compute = (change: Partial<ClaimedAudience> = {}) =>
  computeAudience(
    { claimed: { ...claimed, ...change }, now: 5000, signal: new AbortController().signal },
    {
      store: {
        digests: (_claimed, bits) =>
          Promise.resolve(
            new Map(
              [...chunks].flatMap(([key, { chunk, digest }]) =>
                key.startsWith(`${bits} `) ? [[chunk, digest] as const] : [],
              ),
            ),
          ),
        writeChunk: (_claimed, chunk) => {
          chunks.set(`${chunk.bits} ${chunk.chunk}`, chunk);
          written.push(chunk.chunk);
          return Promise.resolve();
        },
        finish: (_claimed, computed) => {
          finished.push(computed);
          return Promise.resolve(isHeld);
        },
      },
      readMembers: ({ limit }) => {
        limits.push(limit);
        const all = members.subarray(0, limit * 8);
        return Promise.resolve(Readable.from([all.subarray(0, 3), all.subarray(3)]));
      },
      maxNames: 5,
    },
  );

describe('the members of an audience', () => {
  it('are stored in chunks, and only chunks that changed are written again', async () => {
    expect(await compute({ bits: 1 })).toEqual({ outcome: 'computed', names: 3, written: 1 });
    expect(finished).toEqual([{ bits: 0, names: 3, computedAt: 5000, error: '' }]);
    expect(await compute({ bits: 0 })).toMatchObject({ written: 0 });
    members = names(1n, 2n, 2n ** 63n + 1n);
    expect(await compute({ bits: 0 })).toMatchObject({ written: 1 });
    expect(written).toEqual([0, 0]);
    expect(chunks.get('0 0')?.names).toEqual(members);
  });

  it('are none when there is nobody, which is written too', async () => {
    members = Buffer.alloc(0);
    expect(await compute()).toEqual({ outcome: 'computed', names: 0, written: 1 });
  });

  it('are none beyond what the account may have, together with its other audiences', async () => {
    expect(await compute({ otherNames: 2 })).toMatchObject({ outcome: 'computed', names: 3 });
    expect(await compute({ otherNames: 3 })).toEqual({
      ...{ outcome: 'empty', reason: 'too_many_names' },
    });
    expect(limits).toEqual([4, 3]);
    expect(finished[1]).toEqual({ bits: 0, names: 0, computedAt: 5000, error: 'too_many_names' });
    expect(chunks.get('0 0')?.names).toHaveLength(0);
  });

  it('are none of a definition that this version cannot read', async () => {
    expect(await compute({ definition: { trait: 5 } })).toEqual({
      ...{ outcome: 'empty', reason: 'invalid_definition' },
    });
    expect(limits).toEqual([]);
  });

  it('do not count when another worker has claimed the audience', async () => {
    isHeld = false;
    expect(await compute()).toEqual({ outcome: 'stale' });
  });

  it('are not stored when the answer of ClickHouse ends halfway', async () => {
    members = Buffer.concat([names(1n), Buffer.from('Code: 241')]);
    await expect(compute()).rejects.toThrow('end inside a hash, after 17 bytes');
    expect(finished).toEqual([]);
  });
});

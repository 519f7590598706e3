import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VisitorHash } from '../../events/channels/onsite/visitor.ts';
import { audienceId, Memberships } from './memberships.ts';

const AUDIENCE = { accountId: 7, audience: 'a' };

function bytesOf(hashes: readonly bigint[]): Buffer {
  const bytes = Buffer.alloc(hashes.length * 8);
  [...hashes]
    .sort((a, b) => (a < b ? -1 : 1))
    .forEach((hash, at) => bytes.writeBigUInt64LE(hash, at * 8));
  return bytes;
}
const hashOf = (hash: bigint): VisitorHash => ({
  high: Number(hash >> 32n),
  low: Number(hash & 0xffffffffn),
});

function fill(
  memberships: Memberships,
  hashes: readonly bigint[],
  bits: number,
  audience = AUDIENCE.audience,
): void {
  for (let chunk = 0; chunk < 2 ** bits; chunk++) {
    const own = hashes.filter((hash) => Number(hash >> BigInt(64 - bits)) === chunk);
    memberships.addChunk({ accountId: 7, audience, bits, chunk, names: bytesOf(own) });
  }
}

function drain(memberships: Memberships): void {
  while (memberships.removeChunk());
}

/** Close to each other, and at both ends. */
const hashes = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: 0n, max: 20n }),
  fc.bigInt({ min: 2n ** 64n - 20n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: 2n ** 32n - 10n, max: 2n ** 32n + 10n }),
);

describe('the members of an audience', () => {
  it('are those whose hashes are in its chunks, in whatever number of chunks', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(hashes, { maxLength: 200 }),
        fc.array(hashes, { maxLength: 50 }),
        fc.integer({ min: 0, max: 5 }),
        (members, others, bits) => {
          const memberships = new Memberships();
          fill(memberships, members, bits);
          memberships.setLayout({ ...AUDIENCE, bits });
          const known = new Set(members);
          for (const hash of [...members, ...others]) {
            expect(memberships.of(AUDIENCE).has(hashOf(hash))).toBe(known.has(hash));
            expect(memberships.matching(7, [hashOf(hash)]).size).toBe(known.has(hash) ? 1 : 0);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('are none before their layout is known, and of an audience that nobody computed', () => {
    const memberships = new Memberships();
    fill(memberships, [5n], 0);
    expect(memberships.of(AUDIENCE).has(hashOf(5n))).toBe(false);
    memberships.setLayout({ ...AUDIENCE, bits: undefined });
    expect(memberships.of(AUDIENCE).has(hashOf(5n))).toBe(false);
    expect(memberships.of({ ...AUDIENCE, accountId: 8 }).has(hashOf(5n))).toBe(false);
  });

  it('stay the same until the chunks of another layout are complete', () => {
    const memberships = new Memberships();
    fill(memberships, [5n], 0);
    memberships.setLayout({ ...AUDIENCE, bits: 0 });
    fill(memberships, [6n, 2n ** 63n], 1);
    expect(memberships.of(AUDIENCE).has(hashOf(5n))).toBe(true);
    expect(memberships.of(AUDIENCE).has(hashOf(6n))).toBe(false);
    memberships.setLayout({ ...AUDIENCE, bits: 1 });
    expect(memberships.of(AUDIENCE).has(hashOf(5n))).toBe(false);
    expect(memberships.of(AUDIENCE).has(hashOf(2n ** 63n))).toBe(true);
    drain(memberships);
    expect(memberships.bytes).toBe(16);
  });

  it('change with a chunk that is written again', () => {
    const memberships = new Memberships();
    fill(memberships, [5n], 0);
    memberships.setLayout({ ...AUDIENCE, bits: 0 });
    fill(memberships, [6n], 0);
    expect(memberships.of(AUDIENCE).has(hashOf(5n))).toBe(false);
    expect(memberships.of(AUDIENCE).has(hashOf(6n))).toBe(true);
    expect(memberships.bytes).toBe(8);
  });

  it('have a bound, and give their memory back', () => {
    const memberships = new Memberships({ maxBytes: 16 });
    const chunk = { ...AUDIENCE, bits: 0, chunk: 0 };
    expect(memberships.addChunk({ ...chunk, names: bytesOf([1n, 2n]) })).toBe(true);
    expect(memberships.addChunk({ ...chunk, audience: 'b', names: bytesOf([3n]) })).toBe(false);
    memberships.retain(new Set([audienceId({ ...AUDIENCE, audience: 'b' })]));
    drain(memberships);
    expect(memberships.bytes).toBe(0);
    expect(memberships.addChunk({ ...chunk, audience: 'b', names: bytesOf([3n]) })).toBe(true);
  });

  it('have a bound of their account', () => {
    const memberships = new Memberships({ maxAccountBytes: 8 });
    const chunk = { ...AUDIENCE, bits: 0, chunk: 0 };
    expect(memberships.addChunk({ ...chunk, names: bytesOf([1n]) })).toBe(true);
    expect(memberships.addChunk({ ...chunk, audience: 'b', names: bytesOf([2n]) })).toBe(false);
    expect(memberships.addChunk({ ...chunk, accountId: 8, names: bytesOf([2n]) })).toBe(true);
  });
});

/** Few audiences and names, so that they meet. */
const changes = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('members' as const),
      audience: fc.constantFrom('a', 'b', 'c'),
      members: fc.uniqueArray(hashes, { maxLength: 30 }),
      bits: fc.integer({ min: 0, max: 2 }),
    }),
    fc.record({
      kind: fc.constant('retain' as const),
      used: fc.subarray(['a', 'b', 'c']),
    }),
    fc.record({ kind: fc.constant('drain' as const) }),
  ),
  { maxLength: 12 },
);

describe('the audiences that a visitor is in', () => {
  it('are those that have one of the names, after any changes', () => {
    fc.assert(
      fc.property(changes, fc.array(hashes, { maxLength: 3 }), (made, others) => {
        const memberships = new Memberships();
        const model = new Map<string, readonly bigint[]>();
        for (const change of made) {
          if (change.kind === 'drain') drain(memberships);
          if (change.kind === 'retain') {
            const ids = change.used.map((audience) => audienceId({ accountId: 7, audience }));
            memberships.retain(new Set(ids));
            for (const audience of model.keys())
              if (!change.used.includes(audience)) model.delete(audience);
          }
          if (change.kind === 'members') {
            const { audience, members, bits } = change;
            fill(memberships, members, bits, audience);
            memberships.setLayout({ accountId: 7, audience, bits });
            model.set(audience, members);
          }
          const sought = [...new Set([...model.values()].flat()), ...others];
          for (const hash of sought) {
            const found = memberships.matching(7, [hashOf(hash)]);
            const expected = [...model].flatMap(([audience, members]) =>
              members.includes(hash) ? [memberships.of({ accountId: 7, audience })] : [],
            );
            expect(new Set(found)).toEqual(new Set(expected));
          }
          expect(memberships.matching(8, sought.map(hashOf)).size).toBe(0);
        }
        drain(memberships);
        const names = [...model.values()].flat().length;
        expect(memberships.bytes).toBe(names * 8);
      }),
      { numRuns: 300 },
    );
  });

  it('are found by either name', () => {
    const memberships = new Memberships();
    fill(memberships, [5n], 0);
    memberships.setLayout({ ...AUDIENCE, bits: 0 });
    expect(memberships.matching(7, [hashOf(6n), hashOf(5n)]).size).toBe(1);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptanceHash, gatewaySeed, UNKNOWN_ACCEPTANCE } from './acceptance.ts';

describe('acceptance hashes', () => {
  it('have 32 bits and are never UNKNOWN_ACCEPTANCE', () => {
    fc.assert(
      fc.property(fc.string(), fc.maxSafeNat(), (gateway, sequence) => {
        const hash = acceptanceHash(gatewaySeed(gateway), sequence);
        expect(hash).not.toBe(UNKNOWN_ACCEPTANCE);
        expect(hash >>> 0).toBe(hash);
      }),
    );
  });

  it('of 100,000 consecutive sequences of a process collide no more often than random numbers', () => {
    const seed = gatewaySeed('8f3a11c2d4e5f607');
    const seen = new Set<number>();
    for (let sequence = 0; sequence < 100_000; sequence += 1)
      seen.add(acceptanceHash(seed, sequence));
    expect(seen.size).toBeGreaterThan(99_990);
  });

  it('differ between processes, and between sequences that differ only above 32 bits', () => {
    const [a, b] = [gatewaySeed('a'), gatewaySeed('b')];
    expect(acceptanceHash(a, 5)).not.toBe(acceptanceHash(b, 5));
    expect(acceptanceHash(a, 5)).not.toBe(acceptanceHash(a, 5 + 2 ** 32));
  });
});

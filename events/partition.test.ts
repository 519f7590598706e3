import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from './testing/arbitrary-json.ts';
import { accountSeed, distinctIdHash, partitionOf } from './partition.ts';

/** FNV-1a (32 bit) straight over the bytes. */
function reference(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

test('the hash equals known values of FNV-1a', () => {
  expect(reference('')).toBe(0x811c9dc5);
  expect(reference('foobar')).toBe(0xbf9cf968);
});

test.each([
  [1, 'user-1'],
  [42, 'کاربر'],
  ['7', '😀 x'],
])('the partition of account %j and distinct id %j is stable', (accountId, name) => {
  expect(partitionOf({ accountId, distinctId: name, partitions: 64 })).toBe(
    reference(`${accountId}\u0000${name}`) % 64,
  );
});

test('the hash covers the UTF-8 bytes of any distinct id', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      anyText,
      fc.integer({ min: 1, max: 1000 }),
      (accountId, name, partitions) => {
        expect(partitionOf({ accountId, distinctId: name, partitions })).toBe(
          reference(`${accountId}\u0000${name}`) % partitions,
        );
        expect(distinctIdHash(accountSeed(accountId), name) % partitions).toBe(
          partitionOf({ accountId, distinctId: name, partitions }),
        );
      },
    ),
    { numRuns: 1000 },
  );
});

test('numbered distinct ids spread evenly over the partitions', () => {
  const counts = Array.from({ length: 4 }, () => 0);
  for (let n = 0; n < 40_000; n++) {
    const partition = partitionOf({ accountId: 1, distinctId: `user-${n}`, partitions: 4 });
    counts[partition] = (counts[partition] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(1000);
});

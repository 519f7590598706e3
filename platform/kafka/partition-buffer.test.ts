import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConsumedMessage } from './consumer-types.ts';
import { LogGap, PartitionBuffer } from './partition-buffer.ts';

const at = (offset: number, size = 10): ConsumedMessage => ({
  topic: 't',
  partition: 0,
  offset,
  timestamp: offset,
  key: null,
  value: null,
  size,
});
const limits = { records: 3, bytes: 100, linger: 20, interval: 400 };

describe('a partition buffer', () => {
  it('is due after the linger when idle, and after the interval since the last batch under load', () => {
    const buffer = new PartitionBuffer(limits);
    expect(buffer.dueIn(0)).toBeUndefined();
    buffer.push(at(0), 1000);
    expect(buffer.dueIn(1000)).toBe(20);
    expect(buffer.dueIn(1020)).toBe(0);
    buffer.nextBatch(1020);
    buffer.push(at(1), 1030);
    expect(buffer.dueIn(1030)).toBe(390);
  });

  it('is due at once when a whole batch waits, by records or by bytes', () => {
    for (const size of [10, 60]) {
      const buffer = new PartitionBuffer(limits);
      buffer.push(at(0, size), 0);
      buffer.nextBatch(0);
      for (let offset = 1; offset <= (size === 10 ? 3 : 2); offset++)
        buffer.push(at(offset, size), 1);
      expect(buffer.dueIn(1)).toBe(0);
    }
  });

  it('returns at least one message, however large', () => {
    const buffer = new PartitionBuffer(limits);
    buffer.push(at(0, 1000), 0);
    buffer.push(at(1, 1000), 0);
    expect(buffer.nextBatch(0).map(({ offset }) => offset)).toEqual([0]);
    expect(buffer.hasRoom).toBe(false);
  });

  it('drops messages before its position, and refuses a gap', () => {
    const buffer = new PartitionBuffer(limits);
    expect(buffer.push(at(5), 0)).toBe(true);
    expect(buffer.push(at(5), 0)).toBe(false);
    expect(buffer.push(at(3), 0)).toBe(false);
    expect(() => buffer.push(at(7), 0)).toThrow(LogGap);
  });

  it('returns every message once and in order, in batches within the limits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant('next batch' as const), fc.integer({ min: 1, max: 150 })), {
          maxLength: 200,
        }),
        (steps) => {
          const buffer = new PartitionBuffer(limits);
          let pushed = 0;
          const processed: number[] = [];
          const processNext = () => {
            const batch = buffer.nextBatch(0);
            expect(batch.length).toBeLessThanOrEqual(limits.records);
            if (batch.length > 1)
              expect(batch.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(
                limits.bytes,
              );
            processed.push(...batch.map(({ offset }) => offset));
          };
          for (const step of steps) {
            if (step === 'next batch') processNext();
            else buffer.push(at(pushed++, step), 0);
          }
          while (buffer.length > 0) processNext();
          expect(processed).toEqual(Array.from({ length: pushed }, (_, offset) => offset));
        },
      ),
    );
  });
});

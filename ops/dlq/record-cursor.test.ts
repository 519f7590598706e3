import { describe, expect, it } from 'vitest';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { RangeGone, type LogRange } from '../../platform/kafka/read-range.ts';
import { RecordCursor } from './record-cursor.ts';

const BATCH = 500;

/** A partition with these offsets; counts the ranges that are opened and the records read. */
function simulatedLog(end: number, begin = 0) {
  const counts = { ranges: 0, records: 0 };
  return {
    counts,
    async *batches({ from, partition, topic }: LogRange) {
      counts.ranges++;
      if (from < begin) throw new RangeGone({ topic, partition, from, to: end }, begin);
      for (let at = from; at < end; at += BATCH) {
        const size = Math.min(BATCH, end - at);
        counts.records += size;
        yield await Promise.resolve(
          Array.from(
            { length: size },
            (_, i) =>
              ({
                topic,
                partition,
                offset: at + i,
                value: Buffer.from(`${at + i}`),
              }) as ConsumedMessage,
          ),
        );
      }
    },
  };
}

const at = (offset: number, partition = 0) => ({ topic: 'events.dead', partition, offset });

describe('reading dead letters by their offsets', () => {
  it('reads 100,000 of one group among those of others in one range', async () => {
    const log = simulatedLog(200_000);
    const cursor = new RecordCursor(log, new AbortController().signal);
    for (let offset = 0; offset < 200_000; offset += 2)
      expect((await cursor.read(at(offset)))?.offset).toBe(offset);
    expect(log.counts).toEqual({ ranges: 1, records: 200_000 });
  });

  it('keeps the range for neighbours in another order, and opens another one far behind or before it', async () => {
    const log = simulatedLog(100_000);
    const cursor = new RecordCursor(log, new AbortController().signal);
    for (const offset of [10, 12, 11, 13])
      expect((await cursor.read(at(offset)))?.offset).toBe(offset);
    expect(log.counts.ranges).toBe(1);
    expect((await cursor.read(at(90_000)))?.offset).toBe(90_000);
    expect((await cursor.read(at(5)))?.offset).toBe(5);
    expect((await cursor.read(at(5, 1)))?.partition).toBe(1);
    expect(log.counts.ranges).toBe(4);
    expect(log.counts.records).toBeLessThanOrEqual(4 * BATCH);
  });

  it('says that a record is no longer retained, and reads the next one', async () => {
    const log = simulatedLog(100, 50);
    const cursor = new RecordCursor(log, new AbortController().signal);
    expect(await cursor.read(at(10))).toBeUndefined();
    expect((await cursor.read(at(60)))?.offset).toBe(60);
  });

  it('opens the range again when the client did not answer, once', async () => {
    const log = simulatedLog(100);
    let failures = 1;
    const reader = {
      batches(range: LogRange) {
        if (failures-- > 0) throw new Error('no record came for 6 s');
        return log.batches(range);
      },
    };
    const flaky = {
      async *batches(range: LogRange) {
        yield* reader.batches(range);
      },
    };
    const cursor = new RecordCursor(flaky, new AbortController().signal);
    expect((await cursor.read(at(3)))?.offset).toBe(3);
    failures = 2;
    await expect(cursor.read(at(3, 1))).rejects.toThrow('no record came');
  });
});

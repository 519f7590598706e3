import { describe, expect, it } from 'vitest';
import type { LogRecord } from '../../ingest/log-record.ts';
import { BufferPool } from '../../platform/buffer-pool.ts';
import type { Publisher } from './publisher.ts';
import { ModelLog } from './testing/model-log.ts';
import { record, until, withPublisher } from './testing/publisher-under-test.ts';

const FILL = 0xff;

/** A record of partition 0 whose value is of the pool. */
function pooled(buffers: BufferPool, number: number): LogRecord {
  const one = record(number, { partition: 0 });
  const value = buffers.take(one.value.length);
  one.value.copy(value);
  return { ...one, value };
}

const isGivenBack = ({ value }: LogRecord) => value.every((byte) => byte === FILL);
const numbersIn = (log: ModelLog) => log.appended.map(({ value }) => Number(value));

/** Runs `work` with a publisher that reached the log, and a pool that fills what is given back. */
async function withPool(
  log: ModelLog,
  work: (given: { publisher: Publisher; buffers: BufferPool }) => Promise<void>,
): Promise<void> {
  const buffers = new BufferPool({ minBytes: 1, maxFreeBytes: 4096, fill: FILL });
  await withPublisher(
    log,
    async ({ publisher }) => {
      await until(() => publisher.phase === 'direct');
      await work({ publisher, buffers });
    },
    { buffers },
  );
}

describe('the memory of a value', () => {
  it('is given back when Kafka has acknowledged the record', async () => {
    const log = new ModelLog();
    await withPool(log, async ({ publisher, buffers }) => {
      const one = pooled(buffers, 1);
      expect(await publisher.publish([one])).toEqual([]);
      expect(isGivenBack(one)).toBe(true);
      expect(numbersIn(log)).toEqual([1]);
    });
  });

  it('is given back with that of the batch which the record was sent in', async () => {
    const log = new ModelLog();
    await withPool(log, async ({ publisher, buffers }) => {
      const records = [1, 2, 3].map((number) => pooled(buffers, number));
      await Promise.all(records.map((one) => publisher.publish([one])));
      expect(log.inBatches).toBe(3);
      expect(records.map(isGivenBack)).toEqual([true, true, true]);
      expect(buffers.freeBytes).toBeGreaterThan(3);
      expect(numbersIn(log)).toEqual([1, 2, 3]);
    });
  });

  it('is not given back when the record was spooled before a late acknowledgement', async () => {
    const log = new ModelLog();
    await withPool(log, async ({ publisher, buffers }) => {
      log.down.add('events.raw-0');
      const one = pooled(buffers, 1);
      const publishing = publisher.publish([one]);
      // Another partition answers, so the producer stays and can report late.
      const is = { durable: false };
      void publishing.then(() => (is.durable = true));
      for (let number = 100; !is.durable; number++)
        await publisher.publish([record(number, { partition: 1 })]);
      expect(publisher.counters.spooled).toBe(1);
      expect(publisher.blockedPartitions).toHaveLength(1);
      log.down.clear();
      log.wake();
      await until(() => publisher.isDrained);
      expect(Number(one.value)).toBe(1);
      expect(numbersIn(log)).toContain(1);
    });
  });

  it('is not given back when the record was refused', async () => {
    const log = new ModelLog();
    log.largest = 3;
    await withPool(log, async ({ publisher, buffers }) => {
      const one = pooled(buffers, 123_456);
      expect(await publisher.publish([one])).toEqual([one]);
      expect(Number(one.value)).toBe(123_456);
    });
  });
});

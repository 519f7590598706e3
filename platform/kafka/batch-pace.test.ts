import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { BatchPace } from './batch-pace.ts';
import { PartitionWorker } from './partition-worker.ts';

const FULL = { records: 4096, bytes: 2 ** 22, linger: 0 };

describe('the pace of batches', () => {
  test('is full while batches are neither slow nor interrupted', () => {
    const pace = new BatchPace();
    pace.ended(100);
    pace.ended(1900);
    expect(pace.of(FULL)).toEqual(FULL);
  });

  test('halves after a slow batch, and is full again after quick ones', () => {
    const pace = new BatchPace();
    pace.ended(2500);
    expect(pace.of(FULL)).toEqual({ ...FULL, records: 2048, bytes: 2 ** 21 });
    pace.ended(1000);
    expect(pace.of(FULL).records).toBe(2048);
    pace.ended(400);
    pace.ended(400);
    expect(pace.of(FULL)).toEqual(FULL);
  });

  test('leaves a batch of at least one record, however slow it is', () => {
    const pace = new BatchPace();
    for (let turn = 0; turn < 100; turn++) pace.interrupted();
    expect(pace.of({ ...FULL, records: 3 }).records).toBe(1);
    expect(pace.of(FULL).records).toBe(16);
  });

  /** Of a backlog of 4096 records that take 5 ms each; each assignment ends after 100 ms. */
  async function processed(limits: (pace: BatchPace) => typeof FULL): Promise<number> {
    const pace = new BatchPace();
    let committed = 0;
    for (let assignment = 0; assignment < 8; assignment++) {
      const worker = new PartitionWorker({
        ...{ partition: 0, log: pino({ level: 'silent' }), limits: () => limits(pace) },
        open: (fenced) =>
          Promise.resolve({
            from: committed,
            async process(batch) {
              const isInterrupted = await sleep(5 * batch.length, false, { signal: fenced }).catch(
                () => true,
              );
              return isInterrupted ? undefined : (batch.at(-1)?.offset ?? 0) + 1;
            },
            release: () => Promise.resolve(),
          }),
        ...{ pause: () => undefined, resume: () => undefined },
        commit: (offset) => (committed = offset),
        onProcessed: ({ durationMs }) => pace.ended(durationMs),
        onInterrupted: () => pace.interrupted(),
        crash: (error) => {
          throw error;
        },
      });
      const value = Buffer.from('x');
      const of = { topic: 't', partition: 0, timestamp: 0, key: null, value, size: 1 };
      for (let offset = committed; offset < 4096; offset++)
        worker.push({ ...of, offset }, performance.now());
      await sleep(100);
      await worker.drain(1);
    }
    return committed;
  }

  test('lets a consumer get on although each assignment ends before a full batch would', async () => {
    expect(await processed(() => FULL)).toBe(0);
    expect(await processed((pace) => pace.of(FULL))).toBeGreaterThan(0);
  });
});

import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { UnreadableRecord } from '../../schemas/codec.ts';
import type { LaterCommits, PartitionTask, ValuesUntil } from './consumer-types.ts';
import { PartitionWorker } from './partition-worker.ts';

/** A worker whose task completes a batch when the test says so. */
function workerUnderTest() {
  const committed: number[] = [];
  const crashes: unknown[] = [];
  const opened = Promise.withResolvers<LaterCommits>();
  const processed = Promise.withResolvers<undefined>();
  const completed = Promise.withResolvers<undefined>();
  const task: PartitionTask = {
    from: undefined,
    commitsLater: (commits) => opened.resolve(commits),
    process: () => {
      processed.resolve(undefined);
      return Promise.resolve(undefined);
    },
    drain: () => completed.promise,
    release: () => Promise.resolve(),
  };
  const worker = new PartitionWorker({
    partition: 3,
    log: pino({ level: 'silent' }),
    limits: { records: 10, bytes: 1000, linger: 0 },
    open: () => Promise.resolve(task),
    pause: () => undefined,
    resume: () => undefined,
    commit: (offset) => committed.push(offset),
    onProcessed: () => undefined,
    crash: (error) => crashes.push(error),
  });
  const value = Buffer.from('x');
  const record = { topic: 't', partition: 3, offset: 7, timestamp: 0, key: null, value, size: 1 };
  return { worker, committed, crashes, opened, processed, completed, record };
}

/** A record of a schema that no release before a later one knows. */
const FROM_LATER = Buffer.concat([Buffer.of(0xc3, 1), Buffer.alloc(20, 0xee)]);

describe('a record that a newer release wrote', () => {
  const value = Buffer.from('x');
  const at = (offset: number, of = value) => {
    const message = { topic: 't', partition: 3, offset, timestamp: 5, key: null };
    return { ...message, value: of, size: of.length };
  };

  /** A worker with a task that decides what happens to the values of a batch. */
  async function afterBatch(
    messages: readonly ReturnType<typeof at>[],
    processBatch: () => number | Promise<never>,
  ) {
    const processed: number[][] = [];
    const committed: number[] = [];
    const crashes: unknown[] = [];
    const waits = Promise.withResolvers<undefined>();
    const log = pino({ level: 'silent' });
    log.error = () => waits.resolve(undefined);
    const worker = new PartitionWorker({
      ...{ partition: 3, log, limits: { records: messages.length, bytes: 1000, linger: 60_000 } },
      open: () =>
        Promise.resolve({
          from: undefined,
          async process(batch) {
            processed.push(batch.map(({ offset }) => offset));
            return await processBatch();
          },
          release: () => Promise.resolve(),
        }),
      ...{ pause: () => undefined, resume: () => undefined, onProcessed: () => undefined },
      commit: (offset) => committed.push(offset),
      crash: (error) => crashes.push(error),
    });
    for (const message of messages) worker.push(message, performance.now());
    await waits.promise;
    const next = 1 + (messages.at(-1)?.offset ?? 0);
    for (const offset of [next, next + 1]) worker.push(at(offset), performance.now());
    await worker.drain(60_000);
    return { worker, processed, committed, crashes };
  }

  test('is never given to the task: what comes before it is committed, and nothing after it', async () => {
    const batch = [at(7), at(8), at(9, FROM_LATER), at(10)];
    const { worker, processed, committed, crashes } = await afterBatch(batch, () => 9);
    expect([processed, committed, crashes]).toEqual([[[7, 8]], [9], []]);
    expect(worker.unknownSchema).toMatchObject({ offset: 9 });
    expect(worker.oldest).toBe(5);
  });

  test('within another record stops the partition before the whole batch', async () => {
    const unknown = new UnreadableRecord('unknown_schema', 'of a newer release');
    const batch = [at(7), at(8)];
    const { worker, committed, crashes } = await afterBatch(batch, () => Promise.reject(unknown));
    expect([committed, crashes]).toEqual([[], []]);
    expect(worker.unknownSchema).toEqual({ offset: 7, detail: 'of a newer release' });
  });
});

describe('the worker of a partition whose task completes later', () => {
  test('commits what the task completes after its batch, also while it drains', async () => {
    const { worker, committed, opened, processed, completed, record } = workerUnderTest();
    const commits = await opened.promise;
    worker.push(record, performance.now());
    await processed.promise;
    expect(committed).toEqual([]);
    const draining = worker.drain(60_000);
    commits.commit(8);
    completed.resolve(undefined);
    await draining;
    expect([committed, worker.position]).toEqual([[8], 8]);
  });

  test('ignores commits and failures after the partition is revoked', async () => {
    const { worker, committed, crashes, opened, completed } = workerUnderTest();
    const commits = await opened.promise;
    completed.resolve(undefined);
    await worker.drain(60_000);
    commits.commit(8);
    commits.failed(new Error('late'));
    expect([committed, crashes]).toEqual([[], []]);
  });

  test('crashes the process when completing fails', async () => {
    const { crashes, opened } = workerUnderTest();
    const failure = new Error('broken');
    (await opened.promise).failed(failure);
    expect(crashes).toEqual([failure]);
  });
});

describe('values of messages', () => {
  /** Lengths of the values of records 7 to 9 after a batch that ends before 9. */
  async function lengthsAfterBatch(valuesUntil?: ValuesUntil): Promise<number[]> {
    const shared = Buffer.from('part of a pool').subarray(0, 4);
    const values = [Buffer.alloc(10), Buffer.alloc(20), Buffer.alloc(30), shared];
    const done = Promise.withResolvers<undefined>();
    const worker = new PartitionWorker({
      ...{ partition: 3, log: pino({ level: 'silent' }), valuesUntil },
      limits: { records: values.length, bytes: 1000, linger: 60_000 },
      open: () =>
        Promise.resolve({
          from: undefined,
          process: (batch) => {
            expect(batch.map(({ value }) => value?.length)).toEqual([10, 20, 30, 4]);
            return Promise.resolve(9);
          },
          release: () => Promise.resolve(),
        }),
      ...{ pause: () => undefined, resume: () => undefined, commit: () => undefined },
      onProcessed: () => done.resolve(undefined),
      crash: (error) => done.reject(error),
    });
    for (const [at, value] of values.entries()) {
      const message = { topic: 't', partition: 3, offset: 7 + at, timestamp: 0, key: null };
      worker.push({ ...message, value, size: value.length }, performance.now());
    }
    await done.promise;
    await worker.drain(60_000);
    return values.map(({ length }) => length);
  }

  test.each([
    ['processed', [0, 0, 0, 4]],
    ['committed', [0, 0, 30, 4]],
    [undefined, [10, 20, 30, 4]],
  ] as const)('are freed when the task is done with them: %s', async (valuesUntil, lengths) => {
    expect(await lengthsAfterBatch(valuesUntil)).toEqual(lengths);
  });
});

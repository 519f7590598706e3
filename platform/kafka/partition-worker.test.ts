import pino from 'pino';
import { describe, expect, test } from 'vitest';
import type { LaterCommits, PartitionTask } from './consumer-types.ts';
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

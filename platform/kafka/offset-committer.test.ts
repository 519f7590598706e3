import pino from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { KafkaError, type PartitionOffset } from './consumer-client.ts';
import { OffsetCommitter } from './offset-committer.ts';

const trouble = new KafkaError(new Error('coordinator is loading'));

describe('the offset committer', () => {
  let sent: (readonly PartitionOffset[])[];
  let committer: OffsetCommitter;
  beforeEach(() => {
    vi.useFakeTimers();
    sent = [];
    committer = new OffsetCommitter({
      log: pino({ level: 'silent' }),
      retryAfter: 500,
      timeout: 15_000,
      send: (offsets) => sent.push(offsets),
    });
    return () => vi.useRealTimers();
  });

  it('keeps one commit in flight, then commits the newest offset', () => {
    committer.commit(0, 1);
    committer.commit(0, 2);
    committer.commit(1, 7);
    committer.commit(0, 3);
    expect(sent).toEqual([[{ partition: 0, offset: 1 }]]);
    committer.complete(undefined);
    expect(sent[1]).toEqual([
      { partition: 0, offset: 3 },
      { partition: 1, offset: 7 },
    ]);
  });

  it('retries a failed commit, unless a newer one exists or the partition was revoked', () => {
    committer.commit(0, 1);
    committer.commit(1, 1);
    committer.complete(undefined);
    committer.commit(1, 2);
    committer.complete(trouble);
    committer.forget(1);
    committer.commit(0, 5);
    vi.advanceTimersByTime(500);
    expect(sent.at(-1)).toEqual([{ partition: 0, offset: 5 }]);
  });

  it('retries a commit that Kafka does not answer in time', () => {
    committer.commit(0, 1);
    vi.advanceTimersByTime(15_000);
    vi.advanceTimersByTime(500);
    expect(sent).toHaveLength(2);
  });

  it('flushes until every commit is acknowledged or the timeout ends', async () => {
    committer.commit(0, 1);
    let flushed = false;
    const flush = committer.flush(2000).then(() => (flushed = true));
    committer.complete(undefined);
    await flush;
    expect(flushed).toBe(true);
    committer.commit(0, 2);
    const late = committer.flush(2000);
    vi.advanceTimersByTime(2000);
    await late;
  });
});

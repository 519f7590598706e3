import { expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { deadLetterGuard } from './dead-letter-guard.ts';

const log = createLog({ part: 'test', level: 'silent' });
const limits = { minDead: 100, maxDeadShare: 0.5, windowEvents: 10_000 };

it('a few refused rows go to events.dead; a partition whose rows are mostly refused is held back, reports why, and is retried', async () => {
  const held: number[] = [];
  const guard = deadLetterGuard({
    limits,
    retryAfter: 10,
    onHeld: (partitions) => held.push(partitions),
  });
  const { signal } = new AbortController();
  expect(await guard.admits(0, { processed: 1000, dead: 5 }, { log, signal })).toBe(true);
  expect([
    guard.refuses({ processed: 99, dead: 99 }),
    guard.refuses({ processed: 5000, dead: 5000 }),
  ]).toEqual([false, true]);
  const admitted = guard.admits(3, { processed: 5000, dead: 5000 }, { log, signal });
  expect(guard.problems()).toEqual([
    expect.stringMatching(/of partition 3 .*DEAD_LETTER_BREAKER=100/) as string,
  ]);
  expect(await admitted).toBe(false);
  expect(guard.problems()).toEqual([]);
  expect(held).toEqual([1, 0]);
  expect(await guard.admits(3, { processed: 5000, dead: 0 }, { log, signal })).toBe(true);
});

it('the wait of a held-back partition ends when the partition is revoked', async () => {
  const guard = deadLetterGuard({ limits, retryAfter: 60_000, onHeld: () => undefined });
  const fenced = new AbortController();
  const admitted = guard.admits(1, { processed: 200, dead: 200 }, { log, signal: fenced.signal });
  fenced.abort(new Error('partition revoked'));
  await expect(admitted).rejects.toThrow('partition revoked');
  expect(guard.problems()).toEqual([]);
});

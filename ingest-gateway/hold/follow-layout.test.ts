import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { followLayout } from './follow-layout.ts';
import { initialHold } from './evolve.ts';

const initial = initialHold({
  followed: { generation: 1, partitions: 4 },
  read: { generation: 1, partitions: 4, phase: 'steady', nextPartitions: undefined },
  hasHeld: false,
});

describe('a gateway that follows the layout of the log', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('knows no epochs while PostgreSQL hangs, every 3 s until it answers', async () => {
    const epochs: (number | undefined)[] = [];
    const follower = followLayout({
      instance: 'one',
      database: { query: () => new Promise<never>(() => undefined) },
      log: createLog({ part: 'test', level: 'silent' }),
      gate: { state: initial, phase: initial.phase, problem: undefined, follow: () => undefined },
      spooled: () => 0,
      refused: () => Promise.resolve(0),
      onRead: () => Promise.resolve(),
      onEpochs: (of) => epochs.push(of),
      counts: () => Promise.resolve(new Map()),
    });
    void follower.start();
    await vi.advanceTimersByTimeAsync(2999);
    expect(epochs).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(epochs).toEqual([undefined]);
    await vi.advanceTimersByTimeAsync(3000);
    expect(epochs).toEqual([undefined, undefined]);
  });
});

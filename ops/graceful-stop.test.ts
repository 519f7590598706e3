import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GracefulStop, Stopped, unlessStopped } from './graceful-stop.ts';

const never = new Promise<string>(() => undefined);

describe('a job that is asked to stop', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('reads nothing more at once, and leaves what it waits for a moment later', async () => {
    const stop = new AbortController();
    const halt = new GracefulStop({ stop: stop.signal, grace: 100 });
    const waiting = unlessStopped(halt, halt.run(never));
    stop.abort();
    expect(halt.readSignal.aborted).toBe(true);
    expect(halt.writeSignal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(100);
    expect(halt.writeSignal.reason).toBeInstanceOf(Stopped);
    expect(await waiting).toBeUndefined();
    halt.close();
  });

  it('still fails with what went wrong by itself', async () => {
    const stop = new AbortController();
    const halt = new GracefulStop({ stop: stop.signal });
    stop.abort();
    await expect(
      unlessStopped(halt, Promise.reject(new Error('the disk is full'))),
    ).rejects.toThrow('the disk is full');
    halt.close();
  });

  it('was asked before it began', async () => {
    const halt = new GracefulStop({ stop: AbortSignal.abort(), grace: 100 });
    await vi.advanceTimersByTimeAsync(100);
    expect(await unlessStopped(halt, halt.run(never))).toBeUndefined();
    halt.close();
  });

  it('ends by itself when nothing moves, and says how to go on', async () => {
    const halt = new GracefulStop({ stop: new AbortController().signal, silence: 60_000 });
    const waiting = expect(unlessStopped(halt, halt.run(never))).rejects.toThrow(
      'nothing moved for 1 minutes',
    );
    await vi.advanceTimersByTimeAsync(59_000);
    halt.progressed();
    await vi.advanceTimersByTimeAsync(59_000);
    expect(halt.writeSignal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    await waiting;
    halt.close();
  });
});

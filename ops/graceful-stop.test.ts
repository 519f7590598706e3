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
    const gracefulStop = new GracefulStop({ stop: stop.signal, grace: 100 });
    const waiting = unlessStopped(gracefulStop, gracefulStop.run(never));
    stop.abort();
    expect(gracefulStop.readSignal.aborted).toBe(true);
    expect(gracefulStop.writeSignal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(100);
    expect(gracefulStop.writeSignal.reason).toBeInstanceOf(Stopped);
    expect(await waiting).toBeUndefined();
    gracefulStop.close();
  });

  it('still fails with what went wrong by itself', async () => {
    const stop = new AbortController();
    const gracefulStop = new GracefulStop({ stop: stop.signal });
    stop.abort();
    await expect(
      unlessStopped(gracefulStop, Promise.reject(new Error('the disk is full'))),
    ).rejects.toThrow('the disk is full');
    gracefulStop.close();
  });

  it('was asked before it began', async () => {
    const gracefulStop = new GracefulStop({ stop: AbortSignal.abort(), grace: 100 });
    await vi.advanceTimersByTimeAsync(100);
    expect(await unlessStopped(gracefulStop, gracefulStop.run(never))).toBeUndefined();
    gracefulStop.close();
  });

  it('ends by itself when nothing moves, and says how to go on', async () => {
    const gracefulStop = new GracefulStop({ stop: new AbortController().signal, silence: 60_000 });
    const waiting = expect(unlessStopped(gracefulStop, gracefulStop.run(never))).rejects.toThrow(
      'nothing moved for 1 minutes',
    );
    await vi.advanceTimersByTimeAsync(59_000);
    gracefulStop.progressed();
    await vi.advanceTimersByTimeAsync(59_000);
    expect(gracefulStop.writeSignal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    await waiting;
    gracefulStop.close();
  });
});

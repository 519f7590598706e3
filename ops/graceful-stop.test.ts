import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GracefulStop, Stopped, unlessStopped } from './graceful-stop.ts';

const never = new Promise<string>(() => undefined);

describe('GracefulStop', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('stops reading at once, and abandons running writes after the grace period', async () => {
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

  it('rejects with an error that is not the stop request', async () => {
    const stop = new AbortController();
    const gracefulStop = new GracefulStop({ stop: stop.signal });
    stop.abort();
    await expect(
      unlessStopped(gracefulStop, Promise.reject(new Error('the disk is full'))),
    ).rejects.toThrow('the disk is full');
    gracefulStop.close();
  });

  it('stops when the signal was aborted before it began', async () => {
    const gracefulStop = new GracefulStop({ stop: AbortSignal.abort(), grace: 100 });
    await vi.advanceTimersByTimeAsync(100);
    expect(await unlessStopped(gracefulStop, gracefulStop.run(never))).toBeUndefined();
    gracefulStop.close();
  });

  it('ends a job without progress, and says how to resume it', async () => {
    const gracefulStop = new GracefulStop({ stop: new AbortController().signal, silence: 60_000 });
    const waiting = expect(unlessStopped(gracefulStop, gracefulStop.run(never))).rejects.toThrow(
      'no progress for 1 minutes',
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

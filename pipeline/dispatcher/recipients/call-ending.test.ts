import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shareEnding } from './call-ending.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});
const share = (signal: AbortSignal) => shareEnding(signal, { now: Date.now(), limitMs: 5000 });

describe('the ending of calls', () => {
  it('is one of all calls that begin within a second', () => {
    const all = new AbortController();
    const first = share(all.signal);
    vi.advanceTimersByTime(999);
    const second = share(all.signal);
    vi.advanceTimersByTime(1);
    const third = share(all.signal);
    expect([second.signal === first.signal, third.signal === first.signal]).toEqual([true, false]);
    for (const one of [first, second, third]) one.release();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('comes to each call when it has taken so long, or up to a second more', () => {
    const all = new AbortController();
    const calls = [share(all.signal)];
    vi.advanceTimersByTime(600);
    calls.push(share(all.signal));
    vi.advanceTimersByTime(600);
    calls.push(share(all.signal));
    const aborted = () => calls.map(({ signal }) => signal.aborted);
    vi.advanceTimersByTime(4799);
    expect(aborted()).toEqual([false, false, false]);
    vi.advanceTimersByTime(1);
    expect(aborted()).toEqual([true, true, false]);
    vi.advanceTimersByTime(1200);
    expect(aborted()).toEqual([true, true, true]);
    expect(share(all.signal).signal.aborted).toBe(false);
  });

  it('comes when all end, also to a call that begins afterwards', () => {
    const all = new AbortController();
    const before = share(all.signal);
    all.abort();
    expect(before.signal.aborted).toBe(true);
    expect(share(all.signal).signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not that of calls that have ended', () => {
    const all = new AbortController();
    const first = share(all.signal);
    first.release();
    const second = share(all.signal);
    expect(second.signal).not.toBe(first.signal);
    all.abort();
    expect([first.signal.aborted, second.signal.aborted]).toEqual([false, true]);
  });
});

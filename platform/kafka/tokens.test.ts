import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tokenSource } from './tokens.ts';

const LIFETIME = 100_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function source() {
  const state = { fetched: 0, fails: false };
  const tokens = tokenSource(() => {
    if (state.fails) return Promise.reject(new Error('no token'));
    return Promise.resolve({ value: `t${++state.fetched}`, expiresAt: Date.now() + LIFETIME });
  }, Date.now);
  return { state, tokens };
}

describe('a source of tokens', () => {
  it('asks once for concurrent connections, and again when most of the lifetime has passed', async () => {
    const { state, tokens } = source();
    expect(await Promise.all([tokens.token(), tokens.token()])).toEqual(['t1', 't1']);
    vi.advanceTimersByTime(LIFETIME * 0.79);
    expect(await tokens.token()).toBe('t1');
    vi.advanceTimersByTime(LIFETIME * 0.02);
    expect(await tokens.token()).toBe('t2');
    expect(state.fetched).toBe(2);
  });

  it('gives a token that is still valid while no other can be had, and fails afterwards', async () => {
    const { state, tokens } = source();
    await tokens.token();
    state.fails = true;
    vi.advanceTimersByTime(LIFETIME * 0.9);
    expect(await tokens.token()).toBe('t1');
    vi.advanceTimersByTime(LIFETIME * 0.2);
    await expect(tokens.token()).rejects.toThrow('no token');
  });

  it('passes every new token to those that follow, through failures, until they end', async () => {
    const { state, tokens } = source();
    await tokens.token();
    const seen: string[] = [];
    const following = tokens.follow((token) => seen.push(token));
    await vi.advanceTimersByTimeAsync(LIFETIME * 0.81);
    expect(seen).toEqual(['t2']);
    state.fails = true;
    await vi.advanceTimersByTimeAsync(LIFETIME);
    expect(seen).toEqual(['t2']);
    state.fails = false;
    await vi.advanceTimersByTimeAsync(6000);
    expect(seen).toEqual(['t2', 't3']);
    following.end();
    await vi.advanceTimersByTimeAsync(LIFETIME);
    expect(seen).toEqual(['t2', 't3']);
  });
});

import { describe, expect, it } from 'vitest';
import { CallLimit } from './call-limit.ts';

const quick = (accountId: number) => ({ accountId, isQuick: true });
const slow = (accountId: number) => ({ accountId, isQuick: false });

describe('the calls that are open over all senders', () => {
  it('are at most half of one account, and a quarter for its slow senders', () => {
    const limit = new CallLimit({ calls: 80 });
    expect(limit.free(quick(1))).toBe(40);
    expect(limit.free(slow(1))).toBe(20);
    limit.change(slow(1), 20);
    expect(limit.free(slow(1))).toBe(0);
    expect(limit.free(quick(1))).toBe(20);
    limit.change(quick(1), 20);
    expect(limit.free(quick(1))).toBe(0);
    expect(limit.free(quick(2))).toBe(40);
  });

  it('of slow senders leave half to quick ones, however many accounts have them', () => {
    const limit = new CallLimit({ calls: 80 });
    for (const account of [1, 2, 3]) limit.change(slow(account), limit.free(slow(account)));
    expect(limit.used).toBe(40);
    expect(limit.free(slow(4))).toBe(0);
    expect(limit.free(quick(4))).toBe(40);
  });

  it('are free again when they have ended', () => {
    const limit = new CallLimit({ calls: 80 });
    limit.change(slow(1), 20);
    limit.change(slow(1), -20);
    expect(limit.used).toBe(0);
    expect(limit.free(slow(1))).toBe(20);
  });
});

import { describe, expect, it } from 'vitest';
import { gunzipSync, gzipSync } from 'node:zlib';
import { BodyBudget, decodeGzip } from './body.ts';

const MIB = 1024 * 1024;

/** A budget that remembers the most that it held. */
function watched(max = Infinity) {
  let held = 0;
  const budget = {
    peak: 0,
    get held() {
      return held;
    },
    acquire(bytes: number) {
      if (held + bytes > max) return false;
      held += bytes;
      budget.peak = Math.max(budget.peak, held);
      return true;
    },
    release: (bytes: number) => void (held -= bytes),
  };
  return budget;
}

describe('the decoding of gzip', () => {
  const text = Buffer.from('{"event":"x","user_id":"u"}'.repeat(5000));
  const member = gzipSync(text);

  it.each([
    ['one member', member],
    ['two members', Buffer.concat([member, member])],
    ['an empty member', gzipSync('')],
    ['bytes after the last member', Buffer.concat([member, Buffer.from('garbage')])],
    ['zeros after the last member', Buffer.concat([member, Buffer.alloc(100)])],
    ['a second member that is cut off', Buffer.concat([member, member.subarray(0, 20)])],
    ['a member that is cut off', member.subarray(0, -9)],
    ['a wrong checksum', Buffer.concat([member.subarray(0, -8), Buffer.alloc(8)])],
    ['no gzip', text],
    ['nothing', Buffer.alloc(0)],
  ])('gives what gunzip gives for %s', async (_, sent) => {
    let whole: Buffer | 'undecodable';
    try {
      whole = gunzipSync(sent);
    } catch {
      whole = 'undecodable';
    }
    const budget = watched();
    const decoded = await decodeGzip(sent, { limit: MIB, budget });
    expect(decoded).toEqual(whole);
    expect(budget.held).toBe(typeof decoded === 'string' ? 0 : decoded.length);
  });

  it('ends at the limit, and never holds more', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * MIB));
    const budget = watched();
    expect(await decodeGzip(bomb, { limit: MIB, budget })).toBe('too_large');
    expect(budget.peak).toBeLessThanOrEqual(MIB);
    expect(budget.held).toBe(0);
    const exact = await decodeGzip(gzipSync(Buffer.alloc(MIB)), { limit: MIB, budget });
    expect(exact.length).toBe(MIB);
  });

  it('ends when the budget has no room for what is decoded', async () => {
    const budget = watched(100_000);
    const sent = gzipSync(Buffer.alloc(MIB));
    expect(await decodeGzip(sent, { limit: MIB, budget })).toBe('overloaded');
    expect(budget.held).toBe(0);
  });
});

describe('the budget of bodies', () => {
  it('gives an account half of it, and another one what it needs', () => {
    const budget = new BodyBudget(1000);
    expect(budget.acquire(1, 500)).toBe(true);
    expect(budget.acquire(1, 1)).toBe(false);
    expect(budget.acquire(2, 250)).toBe(true);
    expect(budget.acquire(2, 1)).toBe(false);
    expect(budget.acquire(3, 100)).toBe(true);
    budget.release(1, 500);
    expect(budget.acquire(2, 100)).toBe(true);
    for (const [account, bytes] of [
      [2, 350],
      [3, 100],
    ] as const)
      budget.release(account, bytes);
    expect(budget.bytes).toBe(0);
    expect(budget.acquire(4, 500)).toBe(true);
  });

  it('never exceeds its limit, however many accounts there are', () => {
    const budget = new BodyBudget(1000);
    for (let account = 0; account < 100; account++)
      while (budget.acquire(account, 10)) expect(budget.bytes).toBeLessThanOrEqual(1000);
    expect(budget.bytes).toBeLessThanOrEqual(1000);
  });
});

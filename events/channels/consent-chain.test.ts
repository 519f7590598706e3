import { describe, expect, it } from 'vitest';
import {
  brokenEntry,
  CHAIN_START,
  chainHash,
  type ChainEntry,
  type ConsentEntry,
} from './consent-chain.ts';

const owner = { accountId: 1, userId: 'u' };

function entry(receivedAt: number, state = 'subscribed'): ConsentEntry {
  const about = { channel: 'email', source: 'page', textVersion: 'v1', ip: '::1', userAgent: 'a' };
  return { ...about, state, receivedAt };
}

function chained(entries: readonly ConsentEntry[]): ChainEntry[] {
  let before: Buffer = CHAIN_START;
  return entries.map((one, number) => {
    before = chainHash(before, owner, one);
    return { number, entry: one, hash: before };
  });
}

describe('the chain of consents', () => {
  const chain = chained([entry(1), entry(2, 'unsubscribed'), entry(3)]);

  it('is whole as it was written', () => {
    expect(brokenEntry(owner, chain)).toBeUndefined();
    expect(brokenEntry(owner, [])).toBeUndefined();
  });

  it('shows the first entry that was changed, removed, moved or of somebody else', () => {
    const [first, second, third] = chain;
    if (!first || !second || !third) throw new Error('three entries');
    const changed = { ...second, entry: { ...second.entry, ip: '::2' } };
    expect(brokenEntry(owner, [first, changed, third])).toBe(1);
    expect(brokenEntry(owner, [first, third])).toBe(1);
    expect(
      brokenEntry(owner, [
        { ...second, number: 0 },
        { ...first, number: 1 },
      ]),
    ).toBe(0);
    expect(brokenEntry({ ...owner, userId: 'v' }, chain)).toBe(0);
  });

  it('is checked from where an erasure cut it', () => {
    const [, second, third] = chain;
    if (!second || !third) throw new Error('three entries');
    expect(brokenEntry(owner, [second, third])).toBeUndefined();
    expect(brokenEntry(owner, [second, { ...third, entry: entry(4) }])).toBe(2);
  });

  it('cannot be imitated by moving text from one field into the next', () => {
    const before = CHAIN_START;
    const one = chainHash(before, owner, { ...entry(1), ip: 'a', userAgent: 'b' });
    const other = chainHash(before, owner, { ...entry(1), ip: 'ab', userAgent: '' });
    expect(one.equals(other)).toBe(false);
  });
});

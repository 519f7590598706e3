import { describe, expect, it, vi } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { lockReason, type Billing } from './decide.ts';
import { softLock } from './soft-lock.ts';

const NOW = Date.UTC(2026, 10, 21);
const DAY = 86_400_000;
const open: Billing = {
  invoiceDueAt: undefined,
  paymentDeclared: false,
  includedEvents: 0,
  includedProfiles: 0,
  events: 0,
  profiles: 0,
};

describe('the soft lock (management 3.1)', () => {
  it('locks an account 75 days after the due date, unless a payment is declared', () => {
    expect(lockReason({ ...open, invoiceDueAt: NOW - 75 * DAY }, NOW)).toBe('overdue_75');
    expect(lockReason({ ...open, invoiceDueAt: NOW - 75 * DAY + 1 }, NOW)).toBeUndefined();
    expect(
      lockReason({ ...open, invoiceDueAt: NOW - 80 * DAY, paymentDeclared: true }, NOW),
    ).toBeUndefined();
  });

  it('locks an account at 300 per cent of either allowance, never without an allowance or a meter', () => {
    expect(lockReason({ ...open, includedEvents: 10, events: 30 }, NOW)).toBe('usage_300');
    expect(lockReason({ ...open, includedProfiles: 10, profiles: 31 }, NOW)).toBe('usage_300');
    expect(lockReason({ ...open, includedEvents: 10, events: 29 }, NOW)).toBeUndefined();
    expect(lockReason({ ...open, includedEvents: 0, events: 1e9 }, NOW)).toBeUndefined();
    expect(lockReason({ ...open, includedEvents: 10, events: undefined }, NOW)).toBeUndefined();
  });

  it('names the overdue invoice first; a declared payment does not disable the usage lock', () => {
    const both = { ...open, invoiceDueAt: NOW - 80 * DAY, includedEvents: 10, events: 30 };
    expect(lockReason(both, NOW)).toBe('overdue_75');
    expect(lockReason({ ...both, paymentDeclared: true }, NOW)).toBe('usage_300');
  });

  it('caches the result for a minute per account, locked or open', async () => {
    const readBilling = vi.fn((accountId: number) =>
      Promise.resolve(accountId === 1 ? { ...open, invoiceDueAt: NOW - 80 * DAY } : open),
    );
    const check = softLock({ readBilling, log: createLog({ part: 'test', level: 'error' }) });
    expect(await check(1, NOW)).toBe('overdue_75');
    expect(await check(2, NOW)).toBeUndefined();
    expect(await check(1, NOW + 59_999)).toBe('overdue_75');
    expect(await check(2, NOW + 59_999)).toBeUndefined();
    expect(readBilling).toHaveBeenCalledTimes(2);
    await check(1, NOW + 60_000);
    expect(readBilling).toHaveBeenCalledTimes(3);
  });

  it('leaves the account open after a failed read and reads again on the next request', async () => {
    const readBilling = vi
      .fn<() => Promise<Billing>>()
      .mockRejectedValueOnce(new Error('unavailable'))
      .mockResolvedValue({ ...open, invoiceDueAt: NOW - 80 * DAY });
    const check = softLock({ readBilling, log: createLog({ part: 'test', level: 'error' }) });
    expect(await check(1, NOW)).toBeUndefined();
    expect(await check(1, NOW)).toBe('overdue_75');
  });
});

import { describe, expect, it, vi } from 'vitest';
import { decider } from '../../events/testing/given.ts';
import { createLog } from '../../platform/log.ts';
import { lockReason, type Billing, type LockReason } from './decide.ts';
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

const overdue: Billing = { ...open, invoiceDueAt: NOW - 80 * DAY };
const usedUp: Billing = { ...open, includedEvents: 10, events: 30 };
const { given } = decider(lockReason);

describe('the soft lock (management 3.1)', () => {
  it.each<[title: string, billing: Partial<Billing>, reason: LockReason | undefined]>([
    ['locks an account 75 days after the due date', { invoiceDueAt: NOW - 75 * DAY }, 'overdue_75'],
    [
      'leaves an account open until 75 days after the due date',
      { invoiceDueAt: NOW - 75 * DAY + 1 },
      undefined,
    ],
    [
      'leaves an overdue account open while a declared payment awaits confirmation',
      { ...overdue, paymentDeclared: true },
      undefined,
    ],
    [
      'locks an account at 300 per cent of its events',
      { includedEvents: 10, events: 30 },
      'usage_300',
    ],
    [
      'locks an account above 300 per cent of its profiles',
      { includedProfiles: 10, profiles: 31 },
      'usage_300',
    ],
    [
      'leaves an account open below 300 per cent of its events',
      { includedEvents: 10, events: 29 },
      undefined,
    ],
    ['leaves an account without an allowance open', { includedEvents: 0, events: 1e9 }, undefined],
    [
      'leaves an account open while its meter cannot be read',
      { includedEvents: 10, events: undefined },
      undefined,
    ],
    [
      'names the overdue invoice before the usage',
      { ...usedUp, invoiceDueAt: overdue.invoiceDueAt },
      'overdue_75',
    ],
    [
      'locks an account for its usage although a payment is declared',
      { ...usedUp, invoiceDueAt: overdue.invoiceDueAt, paymentDeclared: true },
      'usage_300',
    ],
  ])('%s', (_, billing, reason) => {
    given({ ...open, ...billing })
      .when(NOW)
      .then(reason);
  });
});

describe('the check of the soft lock', () => {
  it('caches the result for a minute per account, locked or open', async () => {
    const readBilling = vi.fn((accountId: number) =>
      Promise.resolve(accountId === 1 ? overdue : open),
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
      .mockResolvedValue(overdue);
    const check = softLock({ readBilling, log: createLog({ part: 'test', level: 'error' }) });
    expect(await check(1, NOW)).toBeUndefined();
    expect(await check(1, NOW)).toBe('overdue_75');
  });
});

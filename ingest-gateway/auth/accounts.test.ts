import { beforeEach, describe, expect, it } from 'vitest';
import { Accounts } from './accounts.ts';
import type { AccountRow, AccountStore } from './account-store.ts';

let now: number;
let row: AccountRow;
let reads: number;
let isDown: boolean;
let events: number | undefined;
let accounts: Accounts;

const store: AccountStore = {
  keys: () => Promise.reject(new Error('not read here')),
  accounts: async (ids) => {
    reads++;
    await Promise.resolve();
    if (isDown) throw new Error('down');
    return new Map(ids.map((id) => [id, { ...row, id }]));
  },
};

beforeEach(() => {
  now = 1_000_000;
  row = { id: 7, retentionDays: 90, subscription: 'active', maxEvents: 0 };
  reads = 0;
  isDown = false;
  events = 0;
  const eventsThisMonth = () =>
    events === undefined ? Promise.reject(new Error('no count')) : Promise.resolve(events);
  accounts = new Accounts({ store, eventsThisMonth, now: () => now });
});

describe('the facts of an account', () => {
  it('are at most 15 s old', async () => {
    expect(await accounts.facts(7)).toEqual({ retentionDays: 90, quota: 'open' });
    row = { ...row, subscription: 'cancelled', retentionDays: 30 };
    now += 14_999;
    expect(accounts.facts(7)).toEqual({ retentionDays: 90, quota: 'open' });
    now += 1;
    expect(await accounts.facts(7)).toEqual({ retentionDays: 30, quota: 'quota_cancelled' });
  });

  it('are read once for concurrent requests', async () => {
    await Promise.all([accounts.facts(7), accounts.facts(7), accounts.facts(8)]);
    expect(reads).toBeLessThanOrEqual(2);
  });

  it('are not read again when they came with the key', async () => {
    accounts.learn({ ...row, subscription: 'trial_ended' });
    expect(await accounts.facts(7)).toEqual({ retentionDays: 90, quota: 'quota_trial_over' });
    expect(reads).toBe(0);
  });

  it('are read again when they came with the key too long ago', async () => {
    accounts.learn({ ...row, subscription: 'trial_ended' });
    now += 5000;
    expect(await accounts.facts(7)).toEqual({ retentionDays: 90, quota: 'open' });
  });

  it('leave the account open when they cannot be read; the retention applies for another minute', async () => {
    row = { ...row, subscription: 'cancelled' };
    await accounts.facts(7);
    isDown = true;
    now += 15_000;
    expect(await accounts.facts(7)).toEqual({ retentionDays: 90, quota: 'open' });
    now += 44_999;
    expect(await accounts.facts(7)).toEqual({ retentionDays: 90, quota: 'open' });
    now += 1;
    expect(await accounts.facts(7)).toEqual({ retentionDays: undefined, quota: 'open' });
    isDown = false;
    now += 15_000;
    expect(await accounts.facts(7)).toEqual({ retentionDays: 90, quota: 'quota_cancelled' });
  });

  it('include the monthly ceiling, and leave the account open when the month cannot be counted', async () => {
    row = { ...row, maxEvents: 100 };
    events = 99;
    expect(await accounts.facts(7)).toMatchObject({ quota: 'open' });
    events = 100;
    now += 15_000;
    expect(await accounts.facts(7)).toMatchObject({ quota: 'quota_event_cap' });
    events = undefined;
    now += 15_000;
    expect(await accounts.facts(7)).toMatchObject({ quota: 'open' });
  });
});

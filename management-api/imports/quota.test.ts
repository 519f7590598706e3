import { beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { usageStore } from '../../account-api/lock/usage-store.ts';
import { quotaGate, type CheckQuota } from './quota.ts';

const LATE_ABAN = Date.parse('2026-11-21T20:29:00Z');
const AZAR = Date.parse('2026-11-21T20:30:00Z');

let now: number;
let reads: number;
let isDown: boolean;
let plan: { subscription: string; max_events: string };
let meters: Map<string, number>;
let check: CheckQuota;

const database = {
  query: (text: string, values: unknown[]) => {
    reads++;
    if (isDown) return Promise.reject(new Error('unavailable'));
    if (text.includes('FROM accounts')) return Promise.resolve({ rows: [plan] });
    const value = meters.get(String(values[1]));
    return Promise.resolve({
      rows: value === undefined ? [] : [{ meter: 'events', value: String(value) }],
    });
  },
} as unknown as Database;

beforeEach(() => {
  now = LATE_ABAN;
  reads = 0;
  isDown = false;
  plan = { subscription: 'active', max_events: '10' };
  meters = new Map([['1405-08', 10]]);
  check = quotaGate({
    database,
    readUsage: usageStore(database, () => now),
    log: createLog({ part: 'test', level: 'error' }),
  });
});

describe('the quota of POST /v1/events (management 7.5)', () => {
  it('refuses a full month, and the next Jalali month opens it again at midnight in Tehran', async () => {
    expect(await check(1, now)).toBe('quota_event_cap');
    now = AZAR;
    expect(await check(1, now)).toBeUndefined();
  });

  it('caches a verdict for 15 s per account', async () => {
    meters.set('1405-08', 9);
    expect(await check(1, now)).toBeUndefined();
    meters.set('1405-08', 10);
    expect(await check(1, now + 14_999)).toBeUndefined();
    expect(await check(2, now + 14_999)).toBe('quota_event_cap');
    expect(await check(1, now + 15_000)).toBe('quota_event_cap');
  });

  it('reads no meter without a limit, and rejects a cancelled subscription and an ended trial', async () => {
    plan = { subscription: 'trial', max_events: '0' };
    expect(await check(1, now)).toBeUndefined();
    expect(reads).toBe(1);
    plan = { subscription: 'trial_ended', max_events: '0' };
    expect(await check(2, now)).toBe('quota_trial_over');
    plan = { subscription: 'cancelled', max_events: '0' };
    expect(await check(3, now)).toBe('quota_cancelled');
  });

  it('accepts events while the quota cannot be read, and reads it again on the next request', async () => {
    isDown = true;
    expect(await check(1, now)).toBeUndefined();
    isDown = false;
    expect(await check(1, now)).toBe('quota_event_cap');
  });
});

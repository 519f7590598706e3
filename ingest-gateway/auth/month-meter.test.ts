import { expect, it } from 'vitest';
import type { Database } from '../../platform/postgres/pool.ts';
import { Accounts } from './accounts.ts';
import { monthMeter } from './month-meter.ts';

const METERS: Record<string, { account_id: string; value: string }[]> = {
  '1405-08': [{ account_id: '7', value: '100' }],
};
const database = {
  query: (_: string, [month]: [string]) => Promise.resolve({ rows: METERS[month] ?? [] }),
} as unknown as Database;

it('an account at its monthly ceiling is open again when the next Jalali month begins in Tehran', async () => {
  let now = Date.parse('2026-11-21T20:29:59Z');
  const accounts = new Accounts({
    store: {
      keys: () => Promise.reject(new Error('not read here')),
      accounts: (ids) =>
        Promise.resolve(
          new Map(
            ids.map((id) => [
              id,
              { id, retentionDays: 30, subscription: 'active' as const, maxEvents: 100 },
            ]),
          ),
        ),
    },
    eventsThisMonth: monthMeter(database, () => now),
    now: () => now,
  });
  expect(await accounts.facts(7)).toMatchObject({ quota: 'quota_event_cap' });
  expect(await accounts.facts(8)).toMatchObject({ quota: 'open' });
  now += 15_000;
  expect(await accounts.facts(7)).toMatchObject({ quota: 'open' });
});

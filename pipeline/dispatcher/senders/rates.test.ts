import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { RateSlots, partOf } from './rate-slots.ts';
import { grantRates, type RateKey } from './rate-store.ts';

describe('the calls of a sender with a limit a second', () => {
  it('never exceed it in any second, however many processes ask and however late they are', () => {
    const run = fc.record({
      perSecond: fc.integer({ min: 1, max: 400 }),
      processes: fc.integer({ min: 1, max: 4 }),
      // Whose turn it is, after how long, ms.
      turns: fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 0, max: 700 })), {
        ...{ minLength: 20, maxLength: 200 },
      }),
    });
    fc.assert(
      fc.property(run, ({ perSecond, processes, turns }) => {
        const slots = Array.from({ length: processes }, () => new RateSlots());
        const calls: number[] = [];
        let now = 0;
        // As PostgreSQL gives parts: each begins where the one before it ended.
        let usedUntil = 0;
        for (const [turn, pause] of turns) {
          now += pause;
          const own = slots[turn % processes];
          if (own?.isRunningOut(now) && usedUntil < now + 1000) {
            const part = partOf(perSecond);
            const from = Math.max(usedUntil, now);
            usedUntil = from + part.calls * part.intervalMs;
            own.add({ from, ...part });
          }
          const count = own?.take(1000, now) ?? 0;
          for (let call = 0; call < count; call++) calls.push(now);
        }
        // What a process may be late adds up once.
        const most = Math.ceil(perSecond * 1.1) + processes;
        for (const [at, first] of calls.entries()) {
          const inSecond = calls.slice(at).filter((call) => call < first + 1000).length;
          expect(inSecond).toBeLessThanOrEqual(most);
        }
      }),
    );
  });

  it('all begin in time when the process is in time', () => {
    const slots = new RateSlots();
    let usedUntil = 0;
    let calls = 0;
    for (let now = 0; now < 10_000; now += 10) {
      if (slots.isRunningOut(now)) {
        const part = partOf(50);
        slots.add({ from: usedUntil, ...part });
        usedUntil += part.calls * part.intervalMs;
      }
      calls += slots.take(1000, now);
    }
    expect(calls).toBe(500);
  });
});

describe('the time of a sender', () => {
  let postgres: MigratedDatabase;
  beforeAll(async () => {
    postgres = await migratedDatabase(['0001', '0060']);
  }, 60_000);
  afterAll(() => postgres.close());
  beforeEach(() => postgres.database.query('TRUNCATE message_sender_rates'));

  const KEY: RateKey = { accountId: 1, channel: 'email', perSecond: 2 };
  /** Asks until others have the time of the next second; answers the calls. */
  async function askAll(key: RateKey): Promise<number> {
    for (let calls = 0; ;) {
      const [part] = await grantRates(postgres.database, [key]);
      if (!part) return calls;
      calls += part.calls;
    }
  }

  it('is given to processes part after part, and not beyond the next second', async () => {
    const [first] = await grantRates(postgres.database, [KEY]);
    const [second] = await grantRates(postgres.database, [KEY]);
    expect(first).toMatchObject({ calls: 1, intervalMs: 500, waitMs: 0 });
    expect(second?.waitMs).toBeGreaterThan(0);
    await askAll(KEY);
    const { rows } = await postgres.database.query<{ ahead: number }>(
      'SELECT extract(epoch FROM used_until - now())::float8 AS ahead FROM message_sender_rates',
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.ahead).toBeLessThanOrEqual(1.5);
  });

  it('of one sender leaves those of other accounts and channels alone', async () => {
    expect(await askAll(KEY)).toBeGreaterThan(1);
    const others = [
      { ...KEY, accountId: 2 },
      { ...KEY, channel: 'sms' },
    ];
    const parts = await grantRates(postgres.database, others);
    expect(parts.map((part) => part?.waitMs)).toEqual([0, 0]);
  });
});

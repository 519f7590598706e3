import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { watchWork } from './watch-work.ts';

const EVERY = { busyMs: 20, quietMs: 20 };

let postgres: MigratedDatabase;
let ending: AbortController;
let found: { runs: number; outcomes: number };
let looks: number;
let isDown: boolean;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060']);
  await execute(`INSERT INTO accounts (id, name) VALUES (1, 'a')`);
  await execute(
    `INSERT INTO campaigns (id, account_id, name, channel, definition) VALUES (3, 1, 'c', 'sms', '{}')`,
  );
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await execute('TRUNCATE campaign_runs, message_outbox CASCADE');
  found = { runs: 0, outcomes: 0 };
  [ending, looks, isDown] = [new AbortController(), 0, false];
});
afterEach(() => ending.abort());

const execute = (text: string) => postgres.database.query(text);
const setRun = (state: string) =>
  execute(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version) VALUES (7, 3, 1, 'send', '${state}', now(), '{}', 1)
     ON CONFLICT (id) DO UPDATE SET state = excluded.state`,
  );

function watch(): void {
  const query = (text: string) => {
    looks++;
    return isDown ? Promise.reject(new Error('down')) : postgres.database.query(text);
  };
  void watchWork({
    database: { query } as typeof postgres.database,
    found: { runs: () => found.runs++, outcomes: () => found.outcomes++ },
    ...{ signal: ending.signal, lookMs: EVERY },
  });
}
/** What is found from now on, in five looks. */
async function foundNow(): Promise<typeof found> {
  const begun = looks + 1;
  await vi.waitFor(() => expect(looks).toBeGreaterThan(begun));
  found = { runs: 0, outcomes: 0 };
  const from = looks;
  await vi.waitFor(() => expect(looks).toBeGreaterThan(from + 5));
  return found;
}
const some = expect.any(Number) as number;

describe('an idle dispatcher', () => {
  it('asks PostgreSQL one thing, and looks for nothing else while there is nothing to do', async () => {
    watch();
    expect(await foundNow()).toEqual({ runs: 0, outcomes: 0 });
  });

  it('looks at chunks while a run is planned or sent, until it has ended', async () => {
    watch();
    for (const state of ['planning', 'sending']) {
      await setRun(state);
      expect((await foundNow()).runs).toBeGreaterThan(0);
    }
    for (const state of ['scheduled', 'finished', 'cancelled']) {
      await setRun(state);
      expect(await foundNow()).toEqual({ runs: 0, outcomes: 0 });
    }
  });

  it('publishes outcomes that another process has written, and none that somebody leased', async () => {
    watch();
    await execute(`INSERT INTO message_outbox (account_id, outcomes) VALUES (1, '')`);
    expect(await foundNow()).toEqual({ runs: 0, outcomes: some });
    expect(found.outcomes).toBeGreaterThan(0);
    await execute(`UPDATE message_outbox SET leased_until = now() + interval '1 minute'`);
    expect(await foundNow()).toEqual({ runs: 0, outcomes: 0 });
  });

  it('looks at everything at the start, and while PostgreSQL does not answer, until it has again', async () => {
    watch();
    await vi.waitFor(() => expect(found).toEqual({ runs: 1, outcomes: 1 }));
    isDown = true;
    const { runs, outcomes } = await foundNow();
    expect(Math.min(runs, outcomes)).toBeGreaterThan(3);
    const before = found.runs;
    isDown = false;
    await vi.waitFor(() => expect(found.runs).toBeGreaterThan(before));
    expect(await foundNow()).toEqual({ runs: 0, outcomes: 0 });
  });
});

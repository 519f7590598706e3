import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../log.ts';
import { migratedDatabase, type MigratedDatabase } from '../postgres/testing/migrated-database.ts';
import type * as Recent from './recent-layout.ts';
import type * as Poll from './erasures-poll.ts';

const ERASURES_POLL_MS = 4000;

const SECOND = 1000;
const log = createLog({ part: 'test', level: 'silent' });
let postgres: MigratedDatabase;
let stop: AbortController;
let isEmpty: boolean;
let loads: number;
let process: typeof Recent & typeof Poll;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0024', '0025', '0029', '0045']);
  await postgres.database.query(
    'INSERT INTO log_layout (partitions, created, history) VALUES (6, 6, $1)',
    ['[{"generation":1,"partitions":6,"epoch":0}]'],
  );
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('DELETE FROM erasures');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  [stop, isEmpty, loads] = [new AbortController(), true, 0];
  vi.resetModules();
  process = {
    ...(await import('./recent-layout.ts')),
    ...(await import('./erasures-poll.ts')),
  };
  expect(process.ERASURES_POLL_MS).toBe(ERASURES_POLL_MS);
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

const erasureIn = (state: string) =>
  postgres.database.query(
    `INSERT INTO erasures (account_id, key_id, name_hashes, state) SELECT 1, id, ARRAY[''::bytea], $1 FROM erasure_keys`,
    [state],
  );

/** The process polls for erasures, and looks at the layout as it does in untilTopicsReplaced. */
async function pass(seconds: number, { looks = true } = {}): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    if (looks && second % (ERASURES_POLL_MS / SECOND) === 0)
      await process.readLayoutAndErasures(postgres.database);
    await vi.advanceTimersByTimeAsync(SECOND);
  }
}
function poll(): void {
  void process.pollErasures({ log, signal: stop.signal, isEmpty: () => isEmpty }, () => {
    loads++;
    return Promise.resolve();
  });
}

describe('a consumer that polls for erasures', () => {
  it('asks nothing while the look at the layout finds none', async () => {
    poll();
    await pass(60);
    expect(loads).toBeLessThan(2);
    await erasureIn('rewritten');
    await pass(60);
    expect(loads).toBeLessThan(2);
  });

  it.each(['requested', 'recorded', 'enforced', 'removed'])(
    'notices one within one and a half of its time when it is %s',
    async (state) => {
      poll();
      await pass(8);
      await erasureIn(state);
      const before = loads;
      await pass((1.5 * ERASURES_POLL_MS) / SECOND);
      expect(loads).toBeGreaterThan(before);
    },
  );

  it('forgets those that have ended', async () => {
    isEmpty = false;
    poll();
    await pass(8);
    expect(loads).toBeGreaterThan(0);
  });

  it('asks by itself while nobody looks at the layout, and when its look fails', async () => {
    poll();
    await pass(4);
    const before = loads;
    await pass(20, { looks: false });
    expect(loads - before).toBeGreaterThan(3);
  });
});

import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { Definitions } from './definitions.ts';
import type { RelayRow } from './relay.ts';

function row(id: number): RelayRow {
  return {
    id,
    accountId: 1,
    url: 'https://a.example/',
    events: [],
    filters: [],
    secret: null,
    activeSince: 0,
  };
}

test('definitions are at least as new as the requested time and reload only when the revision changed', async () => {
  const database = { revision: '1', rows: [row(1)], revisionReads: 0, reads: 0 };
  const clock = { now: 1000 };
  const changes: number[][] = [];
  const definitions = new Definitions({
    store: {
      revision: () => Promise.resolve((database.revisionReads++, database.revision)),
      relays: () =>
        Promise.resolve((database.reads++, { revision: database.revision, rows: database.rows })),
    },
    sealer: undefined,
    log: pino({ level: 'silent' }),
    now: () => clock.now,
    changed: (relays) => changes.push(relays.map(({ id }) => id)),
  });
  expect((await definitions.asOf(1000)).get(1)?.map(({ id }) => id)).toEqual([1]);
  await definitions.asOf(900);
  expect([database.revisionReads, database.reads]).toEqual([1, 1]);
  clock.now = 2000;
  await definitions.asOf(1001);
  expect([database.revisionReads, database.reads]).toEqual([2, 1]);
  Object.assign(database, { revision: '2', rows: [row(1), row(2)] });
  expect((await definitions.asOf(2000)).get(1)).toHaveLength(1);
  clock.now = 3000;
  expect((await definitions.asOf(2500)).get(1)).toHaveLength(2);
  // A future time means now.
  clock.now = 4000;
  await definitions.asOf(9_999_999);
  expect([database.revisionReads, database.reads, changes]).toEqual([4, 2, [[1], [1, 2]]]);
  // Concurrent partitions share one read of the revision.
  clock.now = 5000;
  await Promise.all([1, 2, 3].map(() => definitions.asOf(4500)));
  expect(database.revisionReads).toBe(5);
});

test('while there are no relays, their revision is read once a second', async () => {
  vi.useFakeTimers({ now: 1000 });
  try {
    const database = { rows: [] as RelayRow[], revisionReads: 0 };
    const revision = () => String(database.rows.length);
    const definitions = new Definitions({
      store: {
        revision: () => Promise.resolve((database.revisionReads++, revision())),
        relays: () => Promise.resolve({ revision: revision(), rows: database.rows }),
      },
      sealer: undefined,
      log: pino({ level: 'silent' }),
      now: () => Date.now(),
      changed: () => undefined,
    });
    const answerAfter = async (time: number, ms: number) => {
      const answer = definitions.asOf(time);
      await vi.advanceTimersByTimeAsync(ms);
      return answer;
    };
    expect((await answerAfter(1000, 0)).size).toBe(0);
    await vi.advanceTimersByTimeAsync(100);
    database.rows = [row(1)];
    const later = definitions.asOf(1100);
    await vi.advanceTimersByTimeAsync(899);
    expect(database.revisionReads).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect((await later).get(1)).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60);
    expect((await answerAfter(2060, 0)).get(1)).toHaveLength(1);
    expect(database.revisionReads).toBe(3);
  } finally {
    vi.useRealTimers();
  }
});

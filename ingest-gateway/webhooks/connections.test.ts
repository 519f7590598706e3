import { beforeEach, describe, expect, it } from 'vitest';
import { Connections } from './connections.ts';
import type { Connection } from './connection-store.ts';

const TOKEN = 'a'.repeat(32);
const known: Connection = {
  id: 1,
  accountId: 1,
  appId: 0,
  source: 'event_pipeline',
  enabled: true,
  sealed: null,
};

let now: number;
let stored: Map<string, Connection>;
let isDown: boolean;
let queries: string[][];
let revision: number;
let checks: number;
let connections: Connections;

const find = (token: string = TOKEN, active = 1) => connections.find({ token, active });

beforeEach(() => {
  now = 0;
  stored = new Map([[TOKEN, known]]);
  isDown = false;
  queries = [];
  [revision, checks] = [1, 0];
  connections = new Connections({
    store: {
      revision: () => {
        checks++;
        return isDown ? Promise.reject(new Error('down')) : Promise.resolve(String(revision));
      },
      byToken: (tokens) => {
        queries.push([...tokens]);
        return isDown ? Promise.reject(new Error('down')) : Promise.resolve(stored);
      },
    },
    now: () => now,
  });
});

/** Changes what is stored, as the triggers of PostgreSQL do. */
function store(connection: Connection | undefined): void {
  stored = new Map(connection ? [[TOKEN, connection]] : []);
  revision++;
}

describe('connections by token', () => {
  it('are checked each time: disabling and enabling take effect at once', async () => {
    expect(await find()).toBe(known);
    store({ ...known, enabled: false });
    expect(await find()).toMatchObject({ enabled: false });
    store(known);
    expect(await find(TOKEN, 9)).toMatchObject({ enabled: false });
    now = 20;
    expect(await find(TOKEN, 9)).toBe(known);
  });

  it('are looked up once as long as nothing changes, known or not', async () => {
    for (let time = 0; time < 20; time++) {
      expect(await find()).toBe(known);
      expect(await find('b'.repeat(32))).toBe('unknown');
    }
    expect(queries).toEqual([[TOKEN], ['b'.repeat(32)]]);
    expect(checks).toBe(40);
    store(known);
    await Promise.all([find(), find('b'.repeat(32))]);
    expect(queries).toHaveLength(4);
  });

  it('share a check for 20 ms when many deliveries are in progress', async () => {
    for (let time = 0; time < 20; time++) {
      now = time;
      expect(await find(TOKEN, 9)).toBe(known);
    }
    expect(checks).toBe(1);
    now = 20;
    await find(TOKEN, 9);
    expect(checks).toBe(2);
  });

  it('share a check among concurrent deliveries of all tokens', async () => {
    await Promise.all(Array.from({ length: 50 }, () => find()));
    expect(queries.length).toBeLessThan(3);
    expect(checks).toBeLessThan(3);
  });

  it('are found in the order of a change: one that is made during a look-up is noticed next', async () => {
    stored = new Map();
    const looking = find();
    await Promise.resolve();
    store(known);
    await looking;
    expect(await find()).toBe(known);
  });

  it('are not delayed by tokens that nobody has', async () => {
    expect(await find()).toBe(known);
    const held = Promise.withResolvers<undefined>();
    const slow = new Connections({
      store: {
        revision: () => Promise.resolve('1'),
        byToken: (tokens) =>
          tokens.includes(TOKEN) ? Promise.resolve(stored) : held.promise.then(() => new Map()),
      },
      now: () => now,
    });
    expect(await slow.find({ token: TOKEN, active: 1 })).toBe(known);
    const flood = Array.from({ length: 1000 }, (_, n) =>
      slow.find({ token: String(n).padStart(32, 'x'), active: 1 }),
    );
    expect(await slow.find({ token: TOKEN, active: 1 })).toBe(known);
    held.resolve(undefined);
    expect(new Set(await Promise.all(flood))).toEqual(new Set(['unknown']));
  });

  it('cost one query at a time of at most 500 tokens, however many nobody has', async () => {
    let [running, most] = [0, 0];
    const sizes: number[] = [];
    const flooded = new Connections({
      store: {
        revision: () => Promise.resolve('1'),
        byToken: async (tokens) => {
          most = Math.max(most, ++running);
          sizes.push(tokens.length);
          await new Promise((resolve) => setImmediate(resolve));
          running--;
          return new Map();
        },
      },
      now: () => now,
    });
    const flood = Array.from({ length: 5000 }, (_, n) =>
      flooded.find({ token: String(n).padStart(32, 'x'), active: 5000 }),
    );
    await Promise.all(flood);
    expect([most, Math.max(...sizes)]).toEqual([1, 500]);
    expect(sizes.length).toBeLessThanOrEqual(12);
    // And none once it is known that nobody has them.
    await flooded.find({ token: String(7).padStart(32, 'x'), active: 1 });
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(5000);
  });

  it('that many unknown ones do not evict', async () => {
    const small = new Connections({
      store: {
        revision: () => Promise.resolve('1'),
        byToken: (tokens) => {
          queries.push([...tokens]);
          return Promise.resolve(new Map(tokens.includes(TOKEN) ? stored : []));
        },
      },
      now: () => now,
      capacity: 10,
    });
    await small.find({ token: TOKEN, active: 1 });
    for (let n = 0; n < 100; n++)
      await small.find({ token: String(n).padStart(32, 'x'), active: 1 });
    expect(small.accountOf(TOKEN)).toBe(1);
    const before = queries.length;
    expect(await small.find({ token: TOKEN, active: 1 })).toBe(known);
    expect(queries.length).toBe(before);
  });

  it.each(['', 'x', 'a'.repeat(33), `${'a'.repeat(31)}'`])(
    'are not looked up for %j, which is not a token',
    async (token) => {
      expect(await find(token)).toBe('unknown');
      expect([queries, checks]).toEqual([[], 0]);
    },
  );

  it('are cached for a minute while the store is unreachable, which is queried again after five seconds', async () => {
    await find();
    isDown = true;
    now = 20;
    expect(await find()).toBe(known);
    expect(await find('b'.repeat(32))).toBe('unverified');
    expect(checks).toBe(2);
    now = 5020;
    expect(await find()).toBe(known);
    expect(checks).toBe(3);
    now = 60_000;
    expect(await find()).toBe('unverified');
  });

  it('are removed from the cache when they are deleted', async () => {
    await find();
    store(undefined);
    now = 20;
    expect(await find()).toBe('unknown');
    isDown = true;
    expect(await find()).toBe('unverified');
  });
});

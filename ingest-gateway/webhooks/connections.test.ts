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
let connections: Connections;

const find = (token: string = TOKEN, active = 1) => connections.find({ token, active });

beforeEach(() => {
  now = 0;
  stored = new Map([[TOKEN, known]]);
  isDown = false;
  queries = [];
  connections = new Connections({
    store: {
      byToken: (tokens) => {
        queries.push([...tokens]);
        return isDown ? Promise.reject(new Error('down')) : Promise.resolve(stored);
      },
    },
    now: () => now,
  });
});

describe('connections by token', () => {
  it('are looked up each time: disabling and enabling take effect at once', async () => {
    expect(await find()).toBe(known);
    stored = new Map([[TOKEN, { ...known, enabled: false }]]);
    expect(await find()).toMatchObject({ enabled: false });
    stored = new Map([[TOKEN, known]]);
    expect(await find(TOKEN, 100)).toBe(known);
  });

  it('share a lookup for 20 ms when many deliveries are in progress', async () => {
    for (let time = 0; time < 20; time++) {
      now = time;
      expect(await find(TOKEN, 9)).toBe(known);
    }
    expect(queries).toHaveLength(1);
    now = 20;
    await find(TOKEN, 9);
    expect(queries).toHaveLength(2);
  });

  it('are looked up in one query for concurrent deliveries', async () => {
    await Promise.all(Array.from({ length: 50 }, () => find()));
    expect(queries.length).toBeLessThan(3);
  });

  it.each(['', 'x', 'a'.repeat(33), `${'a'.repeat(31)}'`])(
    'are not looked up for %j, which is not a token',
    async (token) => {
      expect(await find(token)).toBe('unknown');
      expect(queries).toEqual([]);
    },
  );

  it('are cached for a minute while the store is unreachable, which is queried again after five seconds', async () => {
    await find();
    isDown = true;
    now = 20;
    expect(await find()).toBe(known);
    expect(await find('b'.repeat(32))).toBe('unverified');
    expect(queries).toHaveLength(2);
    now = 5020;
    expect(await find()).toBe(known);
    expect(queries).toHaveLength(3);
    now = 60_000;
    expect(await find()).toBe('unverified');
  });

  it('are removed from the cache when they are deleted', async () => {
    await find();
    stored = new Map();
    now = 20;
    expect(await find()).toBe('unknown');
    isDown = true;
    expect(await find()).toBe('unverified');
  });
});

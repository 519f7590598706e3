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
let asked: string[][];
let connections: Connections;

const find = (token: string = TOKEN, underWay = 1) => connections.find({ token, underWay });

beforeEach(() => {
  now = 0;
  stored = new Map([[TOKEN, known]]);
  isDown = false;
  asked = [];
  connections = new Connections({
    store: {
      byToken: (tokens) => {
        asked.push([...tokens]);
        return isDown ? Promise.reject(new Error('down')) : Promise.resolve(stored);
      },
    },
    now: () => now,
  });
});

describe('connections by token', () => {
  it('are asked for each time: what is disabled is so at once, and so is what is enabled', async () => {
    expect(await find()).toBe(known);
    stored = new Map([[TOKEN, { ...known, enabled: false }]]);
    expect(await find()).toMatchObject({ enabled: false });
    stored = new Map([[TOKEN, known]]);
    expect(await find(TOKEN, 100)).toBe(known);
  });

  it('in a flood share an answer for 20 ms', async () => {
    for (let time = 0; time < 20; time++) {
      now = time;
      expect(await find(TOKEN, 9)).toBe(known);
    }
    expect(asked).toHaveLength(1);
    now = 20;
    await find(TOKEN, 9);
    expect(asked).toHaveLength(2);
  });

  it('deliveries that come together share a query', async () => {
    await Promise.all(Array.from({ length: 50 }, () => find()));
    expect(asked.length).toBeLessThan(3);
  });

  it.each(['', 'x', 'a'.repeat(33), `${'a'.repeat(31)}'`])(
    '%j is no token: the store is not asked',
    async (token) => {
      expect(await find(token)).toBe('unknown');
      expect(asked).toEqual([]);
    },
  );

  it('are remembered for a minute while the store cannot be reached, which is asked again after five seconds', async () => {
    await find();
    isDown = true;
    now = 20;
    expect(await find()).toBe(known);
    expect(await find('b'.repeat(32))).toBe('unverified');
    expect(asked).toHaveLength(2);
    now = 5020;
    expect(await find()).toBe(known);
    expect(asked).toHaveLength(3);
    now = 60_000;
    expect(await find()).toBe('unverified');
  });

  it('one that was deleted is not remembered', async () => {
    await find();
    stored = new Map();
    now = 20;
    expect(await find()).toBe('unknown');
    isDown = true;
    expect(await find()).toBe('unverified');
  });
});

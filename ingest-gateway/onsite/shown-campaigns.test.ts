import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ShownCampaigns } from './shown-campaigns.ts';
import type { Showing, ShownStore, VisitorId } from './shown-store.ts';

const VISITOR = { accountId: 7, hash: '00'.repeat(8) };
const OTHER = { accountId: 7, hash: '01'.repeat(8) };

let stored: Map<VisitorId, Map<number, number>>;
let written: Showing[];
let state: 'up' | 'down' | 'silent';
let questions: number;
let failures: number;
let shown: ShownCampaigns;

const store: ShownStore = {
  of: (visitors) => {
    questions++;
    if (state === 'down') return Promise.reject(new Error('down'));
    if (state === 'silent') return new Promise(() => undefined);
    return Promise.resolve(new Map(visitors.map((id) => [id, new Map(stored.get(id))])));
  },
  add: (showings) => {
    if (state !== 'up') return Promise.reject(new Error('down'));
    written.push(...showings);
    return Promise.resolve();
  },
};

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  stored = new Map([['7 0000000000000000', new Map([[1, 500]])]]);
  written = [];
  state = 'up';
  questions = failures = 0;
  shown = new ShownCampaigns({ store, now: Date.now, onFailed: () => failures++ });
});
afterEach(() => vi.useRealTimers());

const of = async (visitor = VISITOR) => Object.fromEntries(await shown.of(visitor));

describe('the campaigns that a visitor has seen', () => {
  it('are read once in five seconds', async () => {
    expect(await of()).toEqual({ 1: 500 });
    expect(await of()).toEqual({ 1: 500 });
    expect(questions).toBe(1);
    stored.set('7 0000000000000000', new Map([[2, 600]]));
    vi.setSystemTime(1_005_000);
    expect(await of()).toEqual({ 1: 500, 2: 600 });
  });

  it('are known at once where they were shown, and written soon after', async () => {
    shown.add(VISITOR, 3);
    shown.add(VISITOR, 3);
    expect(await of()).toEqual({ 1: 500, 3: 1_000_000 });
    expect(await of(OTHER)).toEqual({});
    await vi.advanceTimersByTimeAsync(300);
    expect(written).toEqual([{ ...VISITOR, campaignId: 3, at: 1_000_000 }]);
  });

  it('are answered from memory while the store is down, with a question every five seconds', async () => {
    await of();
    state = 'down';
    vi.setSystemTime(1_006_000);
    expect(await of()).toEqual({ 1: 500 });
    expect(await of(OTHER)).toEqual({});
    for (let time = 0; time < 100; time++) {
      shown.add(OTHER, 4);
      expect(await of(OTHER)).toEqual({ 4: 1_006_000 });
    }
    expect([questions, failures]).toEqual([2, 1]);
    vi.setSystemTime(1_011_500);
    await Promise.all(Array.from({ length: 50 }, () => of(OTHER)));
    expect(questions).toBe(3);
    state = 'up';
    vi.setSystemTime(1_017_000);
    await of();
    expect(await of(OTHER)).toEqual({ 4: 1_006_000 });
    expect(questions).toBe(5);
  });

  it('do not keep a page waiting for a store that is silent', async () => {
    state = 'silent';
    const answer = of();
    await vi.advanceTimersByTimeAsync(100);
    expect(await answer).toEqual({});
    expect(failures).toBe(1);
  });

  it('are written when the process ends', async () => {
    shown.add(VISITOR, 3);
    await shown.close(1000);
    expect(written).toHaveLength(1);
  });
});

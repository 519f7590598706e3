import { describe, expect, it } from 'vitest';
import { profileKey, type Profile } from './profile.ts';
import { sharedRequests } from './shared-requests.ts';
import type { ProfileName, ProfileStore } from './store.ts';

interface Asked {
  names: readonly ProfileName[];
  signal: AbortSignal;
  answer(found: ReadonlyMap<string, Profile>): void;
  fail(error: Error): void;
}

/** A store whose requests wait until the test answers them. */
function store() {
  const loads: Asked[] = [];
  const saves: { profiles: readonly Profile[]; done(): void }[] = [];
  const held: ProfileStore = {
    load: (names, signal) =>
      new Promise((answer, fail) => loads.push({ names, signal, answer, fail })),
    save: (profiles) => new Promise((done) => saves.push({ profiles, done })),
  };
  return { shared: sharedRequests(held), loads, saves };
}
const name = (text: string): ProfileName => ({ accountId: 1, name: text });
const profile = (text: string) => ({ accountId: 1, name: text }) as Profile;
const soon = () => new Promise((resolve) => setImmediate(resolve));
const never = new AbortController().signal;

describe('requests that callers share', () => {
  it('goes at once when none is under way, and together with what came meanwhile', async () => {
    const { shared, loads } = store();
    const first = shared.load([name('a')], never);
    const others = [shared.load([name('b')], never), shared.load([name('c')], never)];
    expect(loads.map(({ names }) => names.length)).toEqual([1]);
    loads[0]?.answer(new Map());
    expect(await first).toEqual(new Map());
    await soon();
    expect(loads[1]?.names).toEqual([name('b'), name('c')]);
    const found = new Map([[profileKey(1, 'c'), profile('c')]]);
    loads[1]?.answer(found);
    expect(await Promise.all(others)).toEqual([found, found]);
  });

  it('tells everyone of a failure, and goes on with what comes after', async () => {
    const { shared, loads } = store();
    const first = shared.load([name('a')], never);
    loads[0]?.fail(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    await soon();
    const second = shared.load([name('a')], never);
    loads[1]?.answer(new Map());
    expect(await second).toEqual(new Map());
  });

  it('lets one caller leave without the others, and ends the request when all have left', async () => {
    const { shared, loads } = store();
    const [one, other] = [new AbortController(), new AbortController()];
    const busy = shared.load([name('x')], never);
    const [a, b] = [shared.load([name('a')], one.signal), shared.load([name('b')], other.signal)];
    loads[0]?.answer(new Map());
    await busy;
    await soon();
    one.abort(new Error('taken away'));
    await expect(a).rejects.toThrow('taken away');
    expect(loads[1]?.signal.aborted).toBe(false);
    other.abort(new Error('taken away too'));
    await expect(b).rejects.toThrow('taken away too');
    expect(loads[1]?.signal.aborted).toBe(true);
  });

  it('passes over who left before their turn', async () => {
    const { shared, loads, saves } = store();
    const leaving = new AbortController();
    const busy = shared.load([name('x')], never);
    const left = shared.load([name('a')], leaving.signal);
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    loads[0]?.answer(new Map());
    await busy;
    await soon();
    expect(loads).toHaveLength(1);
    const saved = shared.save([profile('a')], never);
    expect(saves).toHaveLength(1);
    saves[0]?.done();
    await saved;
  });

  it('bounds a request', async () => {
    const { shared, loads } = store();
    const many = (count: number) => Array.from({ length: count }, (_, at) => name(String(at)));
    const all = [
      shared.load(many(1), never),
      shared.load(many(150_000), never),
      shared.load(many(150_000), never),
    ];
    for (let at = 0; at < 3; at++) {
      loads[at]?.answer(new Map());
      await soon();
    }
    await Promise.all(all);
    expect(loads.map(({ names }) => names.length)).toEqual([1, 150_000, 150_000]);
  });
});

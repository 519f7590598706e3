import { describe, expect, it } from 'vitest';
import { coalescingStore } from './coalescing-store.ts';
import { profileKey, type PackedProfile, type Profile } from './profile.ts';
import { ProfilesTooLarge, type ProfileId, type ProfileStore } from './store.ts';

interface Load {
  ids: readonly ProfileId[];
  signal: AbortSignal;
  respond(found: ReadonlyMap<string, Profile>): void;
  fail(error: Error): void;
}

/** A store whose requests wait until the test responds. */
function manualStore() {
  const loads: Load[] = [];
  const saves: { profiles: readonly (Profile | PackedProfile)[]; respond(): void }[] = [];
  const inner: ProfileStore = {
    load: (ids, signal) =>
      new Promise((respond, fail) => loads.push({ ids, signal, respond, fail })),
    save: (profiles) => new Promise((respond) => saves.push({ profiles, respond })),
  };
  return { store: coalescingStore(inner), loads, saves };
}
const id = (distinctId: string): ProfileId => ({ accountId: 1, distinctId });
const profile = (distinctId: string) => ({ accountId: 1, distinctId }) as Profile;
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const never = new AbortController().signal;

describe('a coalescing store', () => {
  it('sends a call at once when none is in flight, and combines the calls that arrive meanwhile', async () => {
    const { store, loads } = manualStore();
    const first = store.load([id('a')], never);
    const others = [store.load([id('b')], never), store.load([id('c')], never)];
    expect(loads.map(({ ids }) => ids.length)).toEqual([1]);
    loads[0]?.respond(new Map());
    expect(await first).toEqual(new Map());
    await nextTurn();
    expect(loads[1]?.ids).toEqual([id('b'), id('c')]);
    const found = new Map([[profileKey(1, 'c'), profile('c')]]);
    loads[1]?.respond(found);
    expect(await Promise.all(others)).toEqual([found, found]);
  });

  it('repeats calls one by one that are too large together, and leaves a single one to its caller', async () => {
    const { store, loads } = manualStore();
    const busy = store.load([id('x')], never);
    const [a, b] = [store.load([id('a')], never), store.load([id('b'), id('c')], never)];
    loads[0]?.respond(new Map());
    await busy;
    await nextTurn();
    loads[1]?.fail(new ProfilesTooLarge('too large'));
    await nextTurn();
    loads[2]?.respond(new Map());
    await nextTurn();
    loads[3]?.fail(new ProfilesTooLarge('too large'));
    expect(await a).toEqual(new Map());
    await expect(b).rejects.toThrow(ProfilesTooLarge);
    expect(loads.map(({ ids }) => ids.map(({ distinctId }) => distinctId).join(''))).toEqual([
      ...['x', 'abc', 'a', 'bc'],
    ]);
  });

  it('rejects the calls of a failed request and continues with later ones', async () => {
    const { store, loads } = manualStore();
    const first = store.load([id('a')], never);
    loads[0]?.fail(new Error('connection lost'));
    await expect(first).rejects.toThrow('connection lost');
    await nextTurn();
    const second = store.load([id('a')], never);
    loads[1]?.respond(new Map());
    expect(await second).toEqual(new Map());
  });

  it('lets one caller abort without the others, and aborts the request when all have aborted', async () => {
    const { store, loads } = manualStore();
    const [one, other] = [new AbortController(), new AbortController()];
    const busy = store.load([id('x')], never);
    const [a, b] = [store.load([id('a')], one.signal), store.load([id('b')], other.signal)];
    loads[0]?.respond(new Map());
    await busy;
    await nextTurn();
    one.abort(new Error('first partition revoked'));
    await expect(a).rejects.toThrow('first partition revoked');
    expect(loads[1]?.signal.aborted).toBe(false);
    other.abort(new Error('second partition revoked'));
    await expect(b).rejects.toThrow('second partition revoked');
    expect(loads[1]?.signal.aborted).toBe(true);
  });

  it('does not send a call that was aborted before its turn', async () => {
    const { store, loads, saves } = manualStore();
    const aborting = new AbortController();
    const busy = store.load([id('x')], never);
    const aborted = store.load([id('a')], aborting.signal);
    aborting.abort(new Error('aborted'));
    await expect(aborted).rejects.toThrow('aborted');
    loads[0]?.respond(new Map());
    await busy;
    await nextTurn();
    expect(loads).toHaveLength(1);
    const saved = store.save([profile('a')], never);
    expect(saves).toHaveLength(1);
    saves[0]?.respond();
    await saved;
  });

  it('bounds the size of a combined request', async () => {
    const { store, loads } = manualStore();
    const many = (count: number) => Array.from({ length: count }, (_, at) => id(String(at)));
    const all = [1, 150_000, 150_000].map((count) => store.load(many(count), never));
    for (let at = 0; at < 3; at++) {
      loads[at]?.respond(new Map());
      await nextTurn();
    }
    await Promise.all(all);
    expect(loads.map(({ ids }) => ids.length)).toEqual([1, 150_000, 150_000]);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProfileCache } from './cache.ts';
import { arbitraryEvents } from './testing/arbitrary-events.ts';
import { described } from './testing/described.ts';
import { describeAll } from './testing/simulated-store.ts';
import { evolve, isFoldedIn, MisplacedEvent } from './evolve.ts';
import { TRAIT_LIMITS } from './trait-limits.ts';
import { fold, groupByPerson } from './fold.ts';
import { profileKey, type Profile, type ProfileEvent } from './profile.ts';
import { specifiedProfiles } from './testing/reference-fold.ts';
import { unpackWrites } from './writes.ts';

const event = (changes: Partial<ProfileEvent>): ProfileEvent => ({
  ...{
    _epoch: 0,
    _partition: 3,
    _offset: 0,
    _index: 0,
    account_id: 1,
    event: 'identify',
    user_id: 'u',
    anonymous_id: '',
  },
  ...{ timestamp: 5, received_at: 5, revenue: 0, traits: {}, trait_numbers: {}, profile: {} },
  ...changes,
});

/** The profiles by key after these events. */
function after(
  states: ReadonlyMap<string, Profile>,
  events: readonly ProfileEvent[],
): Map<string, Profile> {
  const grouped = groupByPerson(events);
  const { changed } = fold(
    grouped,
    grouped.people.map(({ key }) => states.get(key)),
  );
  return new Map([
    ...states,
    ...changed.map((profile): [string, Profile] => [
      profileKey(profile.accountId, profile.distinctId),
      profile,
    ]),
  ]);
}

describe('the fold of events', () => {
  it('is the profile of the specification', () => {
    fc.assert(
      fc.property(arbitraryEvents({ maxLength: 60 }), (events) => {
        const profiles = after(new Map(), events);
        expect(describeAll(profiles.values())).toEqual(specifiedProfiles(events));
      }),
      { numRuns: 400 },
    );
  });

  it('does not change when parts of the log are repeated', () => {
    const pieces = fc.array(fc.tuple(fc.nat(60), fc.nat(60)), { maxLength: 6 });
    fc.assert(
      fc.property(arbitraryEvents({ maxLength: 40 }), pieces, (events, again) => {
        let states = new Map<string, Profile>();
        let reached = 0;
        // Each part starts within what was read before, as after a crash, and goes further.
        for (const [back, on] of [...again, [0, events.length] as const]) {
          const from = Math.max(0, reached - back);
          const to = Math.min(events.length, Math.max(reached, from + on));
          states = after(states, events.slice(from, to));
          reached = Math.max(reached, to);
        }
        expect(describeAll(states.values())).toEqual(specifiedProfiles(events));
      }),
      { numRuns: 300 },
    );
  });

  it('orders writes of a trait by time of reception before log position', () => {
    const late = event({
      _offset: 1,
      received_at: 9,
      traits: { plan: 'old' },
      profile: { city: 'x' },
    });
    const spooled = event({
      _offset: 2,
      received_at: 7,
      traits: { plan: 'older', level: '2' },
      trait_numbers: { level: 2 },
      profile: { city: 'y' },
    });
    const profile = [late, spooled].reduce<Profile | undefined>(
      (before, one) => evolve(before, one),
      undefined,
    );
    expect(profile && described(profile)).toMatchObject({
      traits: { plan: 'old', level: '2' },
      trait_numbers: { level: 2 },
      columns: { city: 'x' },
    });
  });

  it('replaces the number of a trait by a later text', () => {
    const profile = evolve(
      evolve(undefined, event({ traits: { level: '2' }, trait_numbers: { level: 2 } })),
      event({ _offset: 1, traits: { level: 'two' } }),
    );
    expect(described(profile)).toMatchObject({ traits: { level: 'two' }, trait_numbers: {} });
  });

  it('rejects an event from another partition, unless its epoch is newer', () => {
    const profile = evolve(undefined, event({ _offset: 7 }));
    expect(() => isFoldedIn(profile, event({ _partition: 1, _offset: 9 }))).toThrow(MisplacedEvent);
    expect(isFoldedIn(profile, event({ _epoch: 1, _partition: 1, _offset: 0 }))).toBe(false);
    expect(
      isFoldedIn(evolve(profile, event({ _epoch: 1, _partition: 1 })), event({ _offset: 8 })),
    ).toBe(true);
  });

  it('drops new traits above their number, counts them and still changes existing ones', () => {
    const keys = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${from + at}`, 'v']));
    let dropped = 0;
    const onDropped = () => {
      dropped++;
    };
    let profile: Profile | undefined;
    for (let at = 0; at < 5; at++)
      profile = evolve(profile, event({ _offset: at, traits: keys(at * 250, 250) }), { onDropped });
    expect(dropped).toBe(250);
    profile = evolve(
      profile,
      event({
        ...{ _offset: 9, received_at: 6, traits: { k0: 'new', more: 'v' } },
        profile: { city: 'تهران', email: 'a@b.c' },
      }),
      { onDropped },
    );
    const writes = unpackWrites(profile.writes);
    expect([dropped, writes.size]).toEqual([251, TRAIT_LIMITS.traits + 2]);
    expect([writes.get('k0')?.text, writes.get('city')?.text]).toEqual(['new', 'تهران']);
  });

  it('is bounded in bytes, however many messages change it, and a trait that shrinks makes room', () => {
    let profile: Profile | undefined;
    const big = 'ی'.repeat(4096);
    for (let at = 0; at < 100; at++)
      profile = evolve(
        profile,
        event({ _offset: at, received_at: at, traits: { [`k${at}`]: big } }),
      );
    expect(unpackWrites(profile?.writes ?? '').size).toBe(15);
    expect(profile?.writes.length).toBeLessThan(2 * TRAIT_LIMITS.bytes);
    profile = evolve(profile, event({ _offset: 100, received_at: 100, traits: { k0: 'x' } }));
    profile = evolve(profile, event({ _offset: 101, received_at: 101, traits: { new: big } }));
    const writes = unpackWrites(profile.writes);
    expect([writes.get('k0')?.text, writes.get('new')?.text]).toEqual(['x', big]);
  });

  it('keeps a profile from before the limits as it is, and changes what does not grow', () => {
    const many = Object.fromEntries(
      Array.from({ length: 3000 }, (_, at) => [`k${at}`, 'x'.repeat(90)]),
    );
    const wide = { traits: 1e6, bytes: 1e9 };
    let profile = evolve(undefined, event({ traits: many }), { limits: wide });
    const traits = { k1: 'y'.repeat(90), k2: 'z'.repeat(91), k3: 'short', more: 'v' };
    profile = evolve(profile, event({ _offset: 1, received_at: 6, traits }));
    const writes = unpackWrites(profile.writes);
    const texts = ['k1', 'k2', 'k3', 'more'].map((key) => writes.get(key)?.text);
    expect(texts).toEqual([traits.k1, many['k2'], 'short', undefined]);
    expect(writes.size).toBe(3000);
  });

  it('is not cached when it is larger than profiles can become', () => {
    const cache = new ProfileCache(() => 64 * 2 ** 20);
    const limits = { traits: 1e6, bytes: 1e9 };
    const of = (count: number) => {
      const keys = Array.from({ length: count }, (_, at) => [`k${at}`, 'x'.repeat(1000)]);
      return evolve(
        undefined,
        event({ traits: Object.fromEntries(keys) as Record<string, string> }),
        {
          limits,
        },
      );
    };
    cache.set('1/u', of(10));
    expect(cache.get('1/u')?.eventCount).toBe(1);
    cache.set('1/u', of(2000));
    expect([cache.get('1/u'), cache.size, cache.bytes]).toEqual([undefined, 0, 0]);
  });

  it('is the bounded profile of the specification, whatever the order of the traits in an event', () => {
    const limits = { traits: 3, bytes: 30 };
    const keys = fc.constantFrom('a', 'b', 'ج', 'long key', '7', 'e');
    const text = fc.constantFrom('', 'x', 'تهران', 'a longer text');
    const writes = fc.array(fc.tuple(keys, text), { maxLength: 5 });
    const bodies = fc.array(
      fc.record({ writes, received_at: fc.nat(5), city: fc.option(text, { nil: undefined }) }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(bodies, (given) => {
        const of = (order: 'sent' | 'reversed') => {
          let profile: Profile | undefined;
          let dropped = 0;
          const events = given.map(({ writes: sent, received_at, city }, at) => {
            const traits = Object.fromEntries(sent);
            const entries = Object.entries(traits);
            const profileColumns = city === undefined ? {} : { city };
            return event({
              ...{ _offset: at, received_at, profile: profileColumns },
              traits: order === 'sent' ? traits : Object.fromEntries(entries.toReversed()),
            });
          });
          for (const one of events)
            profile = evolve(profile, one, {
              limits,
              onDropped: () => {
                dropped++;
              },
            });
          return { events, profile, dropped };
        };
        const { events, profile, dropped } = of('sent');
        expect(profile && described(profile)).toEqual(specifiedProfiles(events, limits).get('1/u'));
        const reversed = of('reversed');
        expect([reversed.profile && described(reversed.profile), reversed.dropped]).toEqual([
          profile && described(profile),
          dropped,
        ]);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryEvents } from './testing/arbitrary-events.ts';
import { described } from './testing/described.ts';
import { describeAll } from './testing/simulated-store.ts';
import { evolve, isFoldedIn, MAX_TRAITS, MisplacedEvent } from './evolve.ts';
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
    const profile = [late, spooled].reduce<Profile | undefined>(evolve, undefined);
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

  it('ignores new trait keys above the limit and still changes existing ones', () => {
    const keys = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${from + at}`, 'v']));
    let profile = evolve(undefined, event({ traits: keys(0, MAX_TRAITS) }));
    profile = evolve(
      profile,
      event({ _offset: 1, received_at: 6, traits: { k0: 'new', more: 'v' } }),
    );
    expect(unpackWrites(profile.writes).size).toBe(MAX_TRAITS);
    expect(unpackWrites(profile.writes).get('k0')?.text).toBe('new');
  });
});

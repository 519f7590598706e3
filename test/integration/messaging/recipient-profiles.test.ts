import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROFILE_COLUMNS } from '../../../events/traits.ts';
import { mergeProfiles, profileVariables } from '../../../messaging/recipients/merge-profiles.ts';
import { profileKey, readProfiles } from '../../../messaging/recipients/read-profiles.ts';
import { rows } from '../../support/stack.ts';
import { isoTime, openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const { signal } = new AbortController();
const NAMES = ['u', 'anon', "o'name\\", 'نام'];

let store: TestDatabase;

beforeAll(async () => {
  store = await openTestDatabase('recipient_profiles', {
    ddl: [
      'projections/identities/ddl/0004_identities_flat.sql',
      'projections/profiles/ddl/0003_profiles.sql',
      'projections/profiles/ddl/0005_people.sql',
    ],
    tables: [],
  });
});
afterAll(() => store.close());

/** One state of one name: what it wrote, each at a time of its own. */
const state = fc.record({
  name: fc.constantFrom(...NAMES),
  columns: fc.dictionary(
    fc.constantFrom('email', 'city', 'email_opt_in'),
    fc.constantFrom('', 'x', 'true'),
  ),
  traits: fc.dictionary(
    fc.constantFrom('plan', 'visits', 'vip'),
    fc.constantFrom('1', 'b', 'true'),
  ),
  numbers: fc.uniqueArray(fc.constantFrom('plan', 'visits', 'vip')),
});

interface Written {
  account_id: number;
  name: string;
  _stamps: Record<string, string>;
  traits: Record<string, string>;
  trait_numbers: Record<string, number>;
}

describe('the profiles of recipients', () => {
  it('are those of the view of people, whichever names a person has', async () => {
    let account = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(state, { selector: ({ name }) => name, minLength: 1 }),
        fc.boolean(),
        async (states, isMerged) => {
          account++;
          let order = 2n ** 120n;
          const written = states.map(({ name, columns, traits, numbers }): Written => {
            const keys = [...Object.keys(columns), ...Object.keys(traits)];
            return {
              ...{ account_id: account, name, ...columns, traits },
              trait_numbers: Object.fromEntries(
                numbers.filter((key) => key in traits).map((key) => [key, 7]),
              ),
              _stamps: Object.fromEntries(keys.map((key) => [key, String(order++)])),
            };
          });
          const common = { event_count: 2, first_seen: isoTime(1000), last_seen: isoTime(2000) };
          // An older state in a part of its own, which nothing has merged yet.
          await store.insert('profiles', [
            { ...written[0], ...common, event_count: 1, traits: { plan: 'old' } },
          ]);
          await store.insert(
            'profiles',
            written.map((row) => ({ ...row, ...common })),
          );
          const merged = isMerged ? states.map(({ name }) => name) : [];
          await store.insert(
            'identities_flat',
            merged.map((name) => ({ account_id: account, name, canonical: 'u', version: 1 })),
          );
          const people = await rows<{ person: string; traits: object; trait_numbers: object }>(
            store.client,
            'SELECT * FROM people WHERE account_id = {account:UInt64}',
            { account },
          );
          const names = states.map(({ name }) => ({ accountId: account, name, isMerged }));
          const found = await readProfiles({
            ...{ client: store.client, names, read: undefined, signal },
          });
          const groups = isMerged ? [names] : names.map((name) => [name]);
          const profiles = groups.map((group) => {
            const profile = mergeProfiles(group.flatMap((one) => found.get(profileKey(one)) ?? []));
            if (!profile) throw new Error('a profile is missing');
            const { columns, traits, numbers } = profile;
            return {
              person: isMerged ? 'u' : group[0]?.name,
              traits,
              trait_numbers: numbers,
              ...columns,
            };
          });
          const byPerson = (
            a: { person?: string | undefined },
            b: { person?: string | undefined },
          ) => ((a.person ?? '') < (b.person ?? '') ? -1 : 1);
          const expected = people.map(({ person, traits, trait_numbers, ...row }) => ({
            ...{ person, traits, trait_numbers },
            ...Object.fromEntries(
              PROFILE_COLUMNS.map((column) => [column, (row as Record<string, unknown>)[column]]),
            ),
          }));
          expect(profiles.toSorted(byPerson)).toEqual(expected.toSorted(byPerson));
        },
      ),
      { numRuns: 40 },
    );
  });

  it('hold only what is read of them', async () => {
    const row = { account_id: 9001, name: 'u', event_count: 1, traits: { plan: 'a', other: 'b' } };
    await store.insert('profiles', [
      { ...row, email: 'a@b.ir', city: 'قم', last_name: 'x', _stamps: { plan: 1, other: 2 } },
    ]);
    const found = await readProfiles({
      ...{ client: store.client, signal, read: ['plan', 'city'] },
      names: [{ accountId: 9001, name: 'u', isMerged: true }],
    });
    const profile = found.get(profileKey({ accountId: 9001, name: 'u' }));
    expect({ ...profileVariables(profile) }).toEqual({ city: 'قم', plan: 'a' });
  });

  it('of many names are found by the primary key', async () => {
    await store.client.command({
      query: `INSERT INTO profiles (account_id, name, event_count, email) SELECT 9002, concat('u', toString(number)), 1, concat(toString(number), '@x.ir') FROM numbers(200000)`,
    });
    const names = Array.from({ length: 500 }, (_, at) => ({
      ...{ accountId: 9002, name: `u${at * 400}`, isMerged: at % 7 === 0 },
    }));
    const found = await readProfiles({ client: store.client, names, read: ['email'], signal });
    expect(found.size).toBe(500);
    expect(found.get('9002 u800')?.columns['email']).toBe('800@x.ir');
  });
});

import type { ClickHouseClient } from '@clickhouse/client';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { migrateClickhouse, splitStatements } from '../../../platform/clickhouse/migrate.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';
import { fold, groupByPerson } from '../../../projections/profiles/fold.ts';
import type { Profile } from '../../../projections/profiles/profile.ts';
import { clickhouseProfiles } from '../../../projections/profiles/store.ts';
import { arbitraryEvents } from '../../../projections/profiles/testing/arbitrary-events.ts';
import { serverSettings } from '../../support/service-process.ts';
import { readyStack, rows } from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

const database = `states_${process.pid}`;
const settings = parseSettings(clickhouseSettings, {
  ...serverSettings(readyStack()),
  CLICKHOUSE_DATABASE: database,
});
const owner = openClickhouse();
const client = connectClickhouse({ settings, name: 'states' });
const store = clickhouseProfiles({ client, cluster: '' });
const { signal } = new AbortController();
const STATES = '0090_profile_states.sql';

beforeAll(async () => {
  await migrateClickhouse(settings, ddlFolders());
});
afterAll(async () => {
  await client.close();
  await owner.command({ query: `DROP DATABASE IF EXISTS ${database}` });
});

/** Profiles of arbitrary people, and the ids by which they are found. */
function arbitraryProfiles() {
  const enough = arbitraryEvents({ maxLength: 60 }).filter(
    (events) => groupByPerson(events).people.length >= 4,
  );
  const [events = []] = fc.sample(enough, { numRuns: 1 });
  const grouped = groupByPerson(events);
  const { changed } = fold(
    grouped,
    grouped.people.map(() => undefined),
  );
  return { ids: grouped.people, profiles: changed };
}

/** Statements of the migration that adds the projection. */
function migration(): string[] {
  const ddl = join(import.meta.dirname, '../../../projections/profiles/ddl', STATES);
  return splitStatements(readFileSync(ddl, 'utf8'));
}

/** Whether each part of the table has the projection, in their order. */
function projectedParts(): Promise<{ has: number }[]> {
  return rows(
    owner,
    `SELECT has(projections, 'states') AS has FROM system.parts WHERE database = {database:String} AND table = 'profiles' AND active AND rows > 0 ORDER BY min_block_number`,
    { database },
  );
}

const run = (statement: string) =>
  owner.command({ query: statement.replace(/\bprofiles\b/, `${database}.profiles`) });
const loaded = async (ids: ReturnType<typeof arbitraryProfiles>['ids']): Promise<Profile[]> =>
  [...(await store.load(ids, signal)).values()].sort(byName);
const byName = (a: Profile, b: Profile) =>
  a.accountId - b.accountId || (a.distinctId < b.distinctId ? -1 : 1);

it('A profile is loaded as it was saved, also after a merge, and the latest of its states', async () => {
  for (let round = 0; round < 5; round++) {
    await run('TRUNCATE TABLE profiles');
    const { ids, profiles } = arbitraryProfiles();
    const later = profiles.map((profile) => ({ ...profile, eventCount: profile.eventCount + 1 }));
    await store.save(later, signal);
    await store.save(profiles, signal);
    expect(await loaded(ids)).toEqual(later.toSorted(byName));
    await run('OPTIMIZE TABLE profiles FINAL');
    expect(await loaded(ids)).toEqual(later.toSorted(byName));
  }
});

it('Profiles that an earlier release stored are loaded as they were, before, while and after the projection is computed', async () => {
  await run('TRUNCATE TABLE profiles');
  await run('ALTER TABLE profiles DROP PROJECTION states');
  await run('ALTER TABLE profiles DROP COLUMN _state');
  await run('ALTER TABLE profiles DROP COLUMN _key');
  const { ids, profiles } = arbitraryProfiles();
  await store.save(profiles, signal);
  const changed = profiles.slice(0, Math.ceil(profiles.length / 2));
  const later = changed.map((profile) => ({ ...profile, eventCount: profile.eventCount + 1 }));
  const expected = [...profiles.slice(changed.length), ...later].toSorted(byName);
  for (const statement of migration()) {
    if (statement.includes('MATERIALIZE PROJECTION')) {
      expect(await loaded(ids)).toEqual(profiles.toSorted(byName));
      // Of its parts one has the projection now, and one has not.
      await store.save(later, signal);
      expect((await projectedParts()).map(({ has }) => has)).toEqual([0, 1]);
      expect(await loaded(ids)).toEqual(expected);
    }
    await run(statement);
  }
  expect(await projectedParts()).toEqual([{ has: 1 }, { has: 1 }]);
  expect(await loaded(ids)).toEqual(expected);
});

it('A profile that is deleted is loaded no more, the others are', async () => {
  await run('TRUNCATE TABLE profiles');
  const { ids, profiles } = arbitraryProfiles();
  await store.save(profiles, signal);
  const [erased, deleted, ...others] = profiles;
  const is = ({ accountId, distinctId }: Profile) =>
    `account_id = ${accountId} AND hex(name) = '${Buffer.from(distinctId).toString('hex').toUpperCase()}'`;
  if (!erased || !deleted) throw new Error('too few people');
  await run(`ALTER TABLE profiles DELETE WHERE ${is(erased)} SETTINGS mutations_sync = 2`);
  await run(`DELETE FROM profiles WHERE ${is(deleted)}`);
  expect(await loaded(ids)).toEqual(others.toSorted(byName));
  expect((await projectedParts()).every(({ has }) => has === 1)).toBe(true);
});

it('The same distinct id in another account is another profile', async () => {
  await run('TRUNCATE TABLE profiles');
  const [profile] = arbitraryProfiles().profiles;
  if (!profile) return;
  const others = [11, 12].map((accountId) => ({ ...profile, accountId }));
  await store.save(others, signal);
  const { distinctId } = profile;
  const found = await store.load([{ accountId: 12, distinctId }], signal);
  expect([...found.values()]).toEqual([others[1]]);
});

const [ANY] = arbitraryProfiles().profiles;

/** A person of account 21, saved `eventCount` times. */
function person(n: number, eventCount = 1): Profile {
  if (!ANY) throw new Error('no profile');
  return { ...ANY, accountId: 21, distinctId: `p${n}`, eventCount };
}

/** 1,000 people in a part, and some of them again, one by one, and a new one, in small parts. */
async function savedParts(): Promise<Profile[]> {
  await run('TRUNCATE TABLE profiles');
  await run('SYSTEM STOP MERGES profiles');
  const people = Array.from({ length: 1000 }, (_, n) => person(n));
  const again = [3, 500, 999].map((n) => person(n, 2));
  for (const inserted of [people, ...again.map((one) => [one]), [person(1000)]])
    await store.save(inserted, signal);
  return [...again, person(1000), ...[4, 5, 6].map((n) => people[n] ?? person(n))].toSorted(byName);
}

/** A store of its own, which lists the parts anew, and the loads that it makes. */
function recordedStore(change = (query: string) => query) {
  const loads: string[] = [];
  const exec: typeof client.exec = (options) => {
    loads.push(options.query);
    return client.exec({ ...options, query: change(options.query) });
  };
  const recorded = Object.assign(Object.create(client) as ClickHouseClient, { exec });
  return { store: clickhouseProfiles({ client: recorded, cluster: '' }), loads };
}

const SMALL = '_part IN (';

it('A profile is found in a large part and in small ones, whose keys are read', async () => {
  const expected = await savedParts();
  const recorded = recordedStore();
  const found = await recorded.store.load(expected, signal);
  expect([...found.values()].sort(byName)).toEqual(expected);
  expect(recorded.loads.map((query) => query.includes(SMALL))).toEqual([true]);
  await run('SYSTEM START MERGES profiles');
  await run('OPTIMIZE TABLE profiles FINAL');
  // The list of parts is that of the first load.
  const later = await recorded.store.load(expected, signal);
  expect([...later.values()].sort(byName)).toEqual(expected);
});

it('A profile is found when its small part is merged while the load is being planned', async () => {
  const expected = await savedParts();
  // The scalar is computed when the first half has its snapshot and the second one has not.
  const slow = recordedStore((query) =>
    query.replaceAll(/_part (NOT )?IN/g, '(SELECT sleep(1)) = 0 AND $&'),
  );
  const loading = slow.store.load(expected, signal);
  await new Promise((resolve) => setTimeout(resolve, 400));
  await run('SYSTEM START MERGES profiles');
  await run('OPTIMIZE TABLE profiles FINAL');
  expect([...(await loading).values()].sort(byName)).toEqual(expected);
  expect(slow.loads.map((query) => query.includes(SMALL))).toEqual([true]);
});

it('Where all parts are small for the people that are wanted, their keys are read', async () => {
  await run('TRUNCATE TABLE profiles');
  await run('SYSTEM STOP MERGES profiles');
  for (const n of [1, 2, 3]) await store.save([person(n)], signal);
  const { store: own, loads } = recordedStore();
  expect([...(await own.load([person(2)], signal)).values()]).toEqual([person(2)]);
  expect(loads.map((query) => query.includes(SMALL))).toEqual([false]);
  expect(loads.map((query) => query.includes('PREWHERE _key IN'))).toEqual([true]);
  // The list of parts is that of the first load; these came since.
  const later = [person(2, 2), person(4)];
  for (const one of later) await store.save([one], signal);
  await run('SYSTEM START MERGES profiles');
  await run('OPTIMIZE TABLE profiles FINAL');
  const found = [...(await own.load(later, signal)).values()];
  expect(found.sort(byName)).toEqual(later);
});

it('Of two states of a person in one insert the one with more events is read', async () => {
  await run('TRUNCATE TABLE profiles');
  await run('SYSTEM STOP MERGES profiles');
  await store.save([person(1, 2), person(1, 1), person(2, 1), person(2, 3)], signal);
  const states = [person(1, 2), person(2, 3)];
  expect(await loaded([person(1), person(2)].map((one) => ({ ...one, key: '' })))).toEqual(states);
  const read = 'SELECT event_count AS n FROM profiles FINAL WHERE account_id = 21 ORDER BY name';
  const stored = await rows<{ n: number }>(owner, read.replace('profiles', `${database}.profiles`));
  expect(stored).toEqual([{ n: 2 }, { n: 3 }]);
});

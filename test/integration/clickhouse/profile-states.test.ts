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

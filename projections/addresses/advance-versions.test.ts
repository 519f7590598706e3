import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { advanceVersions } from './advance-versions.ts';

let migrated: MigratedDatabase;
beforeAll(async () => {
  migrated = await migratedDatabase(['0050']);
}, 60_000);
afterAll(() => migrated.close());

async function versionAfter(highest: number): Promise<number> {
  const query = () => Promise.resolve({ json: () => Promise.resolve([[highest]]) } as never);
  const log = createLog({ part: 'test', level: 'silent' });
  const { database } = migrated;
  const { signal } = new AbortController();
  await advanceVersions({ database, clickhouse: { query }, log, signal });
  const { rows } = await database.query<{ version: number }>(
    "SELECT nextval('channel_versions')::int AS version",
  );
  return rows[0]?.version ?? 0;
}

it('versions continue after those of ClickHouse, and never go back', async () => {
  expect(await versionAfter(0)).toBe(1);
  expect(await versionAfter(40)).toBe(41);
  expect(await versionAfter(7)).toBe(42);
});

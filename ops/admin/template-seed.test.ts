import { afterAll, beforeAll, expect, it } from 'vitest';
import { TemplateStore } from '../../messaging/templates/template-store.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { seedTemplate } from './template-seed.ts';

let postgres: MigratedDatabase;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0060']);
  await postgres.database.query(`INSERT INTO accounts (id, name) VALUES (1, 'demo'), (2, 'b')`);
}, 60_000);
afterAll(() => postgres.close());

it('the demo account gets a template once, and another account does not share it', async () => {
  const { database } = postgres;
  const made = await seedTemplate(database, { accountId: 1, kept: undefined });
  expect(await seedTemplate(database, { accountId: 1, kept: made })).toBe(made);
  expect(await new TemplateStore(database).newest(made)).toMatchObject({
    ...{ accountId: 1, channel: 'email', category: 'marketing', version: 1 },
  });
  const other = await seedTemplate(database, { accountId: 2, kept: made });
  expect(other).not.toBe(made);
});

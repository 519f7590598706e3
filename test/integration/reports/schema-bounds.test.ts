import { afterAll, beforeAll, expect, it } from 'vitest';
import { schemaQueries } from '../../../account-api/schema/queries.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('schema_bounds', {
    ddl: ['projections/catalogue/ddl/0006_event_catalogue.sql'],
    tables: [],
  });
});
afterAll(() => database.close());

const NAMES = 600;
const KEYS = 1000;

it('the list of event names stays small when a client invents 600 names with 1,000 keys of 128 bytes each', async () => {
  const now = Date.now();
  await database.client.command({
    query: `INSERT INTO event_catalogue (account_id, day, event, count, prop_keys, last_seen, chunk)
      SELECT 1, today(), 'event_' || toString(number), 1 + number,
        arrayMap(k -> rightPad(toString(number) || '_' || toString(k) || '_', 128, 'k'), range(${KEYS})), now64(3), number
      FROM numbers(${NAMES})`,
  });
  const events = await schemaQueries(database.client).events({
    accountId: 1,
    now,
    signal: AbortSignal.timeout(60_000),
  });
  expect(events).toHaveLength(500);
  expect(JSON.stringify(events).length).toBeLessThan(2 ** 21);
  // the busiest events come first, and their keys with them
  expect(events[0]).toMatchObject({ name: `event_${NAMES - 1}`, volume: NAMES });
  expect(events[0]?.prop_keys).toHaveLength(256);
  expect(events.at(-1)?.prop_keys).toBeUndefined();
});

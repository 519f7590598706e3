import { afterAll, beforeAll, expect, it } from 'vitest';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const EARLIER = ['0001_events', '0020_merge_more_parts_at_once', '0021_trace', '0025_message_ids'];
const ddl = (names: readonly string[]) => names.map((name) => `projections/events/ddl/${name}.sql`);

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('recompress', { ddl: ddl(EARLIER), tables: [] });
});
afterAll(() => database.close());

const insert = (offset: number, hoursAgo: number) =>
  database.insert('events', [
    {
      ...{ account_id: 1, event: 'a', user_id: 'u', _offset: offset },
      timestamp: new Date(Date.now() - offset * 1000).toISOString(),
      received_at: new Date(Date.now() - hoursAgo * 3_600_000).toISOString(),
    },
  ]);
const parts = () =>
  readRows<{ rows: number; codec: string }>({
    client: database.client,
    sql: "SELECT toUInt32(rows) AS rows, default_compression_codec AS codec FROM system.parts WHERE database = currentDatabase() AND table = 'events' AND active",
    params: {},
    signal: AbortSignal.timeout(60_000),
  });

it('events that came more than a day ago are in ZSTD after their next merge, those of an earlier release too', async () => {
  const { client } = database;
  await client.command({ query: 'SYSTEM STOP MERGES events' });
  await insert(1, 30);
  await database.migrate(ddl(['0080_recompress']));
  // the statement alone rewrites nothing
  expect(await parts()).toEqual([{ rows: 1, codec: 'LZ4' }]);
  await insert(2, 30);
  await client.command({ query: 'SYSTEM START MERGES events' });
  await client.command({ query: 'OPTIMIZE TABLE events FINAL' });
  expect(await parts()).toEqual([{ rows: 2, codec: 'ZSTD(3)' }]);
});

it('events of today stay in LZ4', async () => {
  const { client } = database;
  await client.command({ query: 'TRUNCATE TABLE events' });
  await insert(3, 1);
  await insert(4, 1);
  await client.command({ query: 'OPTIMIZE TABLE events FINAL' });
  expect(await parts()).toEqual([{ rows: 2, codec: 'LZ4' }]);
});

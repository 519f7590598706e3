import { afterAll, beforeAll, expect, it } from 'vitest';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const EARLIER = [
  ...['0001_events', '0020_merge_more_parts_at_once', '0021_trace', '0025_message_ids'],
  ...['0080_recompress', '0093_fewer_merges'],
];
const ddl = (names: readonly string[]) => names.map((name) => `projections/events/ddl/${name}.sql`);

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('codecs', { ddl: ddl(EARLIER), tables: [] });
});
afterAll(() => database.close());

const START = Date.now() - 3_600_000;
const PEOPLE = 7;
/** Times that differ in few and in many bits, before and after each other, and empty properties. */
const rowOf = (at: number) => ({
  ...{ account_id: 1, event: `e${at % 3}`, user_id: `u${at % PEOPLE}`, _offset: 2 ** 33 + at },
  properties: { name: `n${at % 4}`, empty: '', at: String(at) },
  timestamp: new Date(START - (at % 5) * 86_400_000 + at).toISOString(),
  received_at: new Date(START + at * 1000).toISOString(),
});
const insert = (from: number, to: number) =>
  database.insert(
    'events',
    Array.from({ length: to - from }, (_, at) => rowOf(from + at)),
  );
const read = <T>(sql: string) =>
  readRows<T>({
    ...{ client: database.client, sql, params: {} },
    signal: AbortSignal.timeout(60_000),
  });
const rows = () =>
  read<Record<string, unknown>>(
    'SELECT _offset, user_id, toUnixTimestamp64Milli(timestamp) AS at, toUnixTimestamp64Milli(received_at) AS received, _person = sipHash64(user_id) AS is_person, properties FROM events ORDER BY _offset',
  );
const expected = (count: number) =>
  Array.from({ length: count }, (_, at) => rowOf(at)).map((row) => ({
    ...{ _offset: row._offset, user_id: row.user_id, is_person: 1, properties: row.properties },
    at: Date.parse(row.timestamp),
    received: Date.parse(row.received_at),
  }));

it('events of an earlier release and of this one are read alike, before and after they are merged', async () => {
  await insert(0, 500);
  await database.migrate(ddl(['0094_codecs_of_reports', '0095_codec_of_properties']));
  // with both codecs in one table
  expect(await rows()).toEqual(expected(500));
  await insert(500, 1000);
  expect(await rows()).toEqual(expected(1000));
  await database.client.command({ query: 'OPTIMIZE TABLE events FINAL' });
  expect(await rows()).toEqual(expected(1000));
  expect(
    await read(
      "SELECT name, compression_codec AS codec FROM system.columns WHERE database = currentDatabase() AND table = 'events' AND name IN ('timestamp', 'received_at', '_offset', '_person', 'properties') ORDER BY name",
    ),
  ).toEqual([
    { name: '_offset', codec: 'CODEC(T64, ZSTD(1))' },
    { name: '_person', codec: 'CODEC(LZ4)' },
    { name: 'properties', codec: 'CODEC(LZ4HC(2))' },
    { name: 'received_at', codec: 'CODEC(T64, ZSTD(1))' },
    { name: 'timestamp', codec: 'CODEC(T64, ZSTD(1))' },
  ]);
});

import type { ClickHouseClient } from '@clickhouse/client';

/** Rows of one INSERT, for every number of people: the server merges them as those of the sink. */
const BLOCK = 200_000;
/** Merges get this long to end, ms. */
const MERGES_MS = 1_800_000;
/** Disk that a generated row may need with its merges, bytes. */
const ROW_BYTES = 500;

/**
 * Creates a table like `profiles` with this many people of account 1, `user-0` to `user-<n - 1>`,
 * one event each, as of bench/profiles/event-generator.ts: one in ten has traits, one in ten an
 * order. Does nothing when the table holds them. Throws when the disk is too small.
 */
export async function fillProfiles(
  client: ClickHouseClient,
  { people, table }: { people: number; table: string },
): Promise<void> {
  await client.command({ query: `CREATE TABLE IF NOT EXISTS ${table} AS profiles` });
  const [stored = { rows: 0, free: 0 }] = await (
    await client.query({
      query: `SELECT (SELECT count() FROM ${table}) AS rows, (SELECT min(unreserved_space) FROM system.disks) AS free`,
      format: 'JSONEachRow',
    })
  ).json<{ rows: string; free: string }>();
  if (Number(stored.rows) >= people) return;
  if (Number(stored.rows) !== 0) throw new Error(`${table} holds ${stored.rows} rows`);
  if (Number(stored.free) < people * ROW_BYTES)
    throw new Error(`${people} people need ${(people * ROW_BYTES) / 2 ** 30} GiB of disk`);
  for (let from = 0; from < people; from += BLOCK)
    await client.command({
      query: insertOf(table, { from, count: Math.min(BLOCK, people - from) }),
      clickhouse_settings: {
        max_execution_time: 0,
        max_block_size: String(BLOCK),
        min_insert_block_size_rows: String(BLOCK),
        min_insert_block_size_bytes: '2000000000',
      },
    });
}

function insertOf(table: string, { from, count }: { from: number; count: number }): string {
  const seen = 'fromUnixTimestamp64Milli(toInt64(1790000000000 + number % 1000000))';
  const order = 'toUInt128(1790000000000 + number % 1000000) * toUInt128(18446744073709551616)';
  const keys = ['email', 'phone', 'city', 'plan', 'level', 'phone_operator'];
  return `INSERT INTO ${table} (account_id, name, user_id, _partition, _offset, _index, event_count, first_seen, last_seen, total_revenue, order_count, last_order_at, email, phone, city, traits, trait_numbers, _stamps)
    SELECT 1, concat('user-', toString(number)) AS name, name, number % 4, intDiv(number, 2000), number % 500, 1, ${seen}, ${seen},
      if(number % 10 = 1, number % 100000, 0), number % 10 = 1, if(number % 10 = 1, ${seen}, NULL),
      if(number % 10 = 0, concat(name, '@example.ir'), ''), if(number % 10 = 0, '+989121234567', ''), if(number % 10 = 0, 'تهران', ''),
      if(number % 10 = 0, map('plan', 'gold', 'level', toString(number % 50), 'phone_operator', 'mci'), CAST(map(), 'Map(String, String)')),
      if(number % 10 = 0, map('level', toFloat64(number % 50)), CAST(map(), 'Map(String, Float64)')),
      if(number % 10 = 0, map(${keys.map((key) => `'${key}', ${order}`).join(', ')}), CAST(map(), 'Map(String, UInt128)'))
    FROM numbers(${from}, ${count})`;
}

/** INSERTs of a day that `writeDay` makes. */
const DAY_BLOCKS = 50;

/** Merges the parts of the table to one, as a day without a merge of them does. */
export async function mergeOld(
  client: ClickHouseClient,
  { table, database }: { table: string; database: string },
): Promise<void> {
  const setAge = (seconds: number) =>
    client.command({
      query: `ALTER TABLE ${table} MODIFY SETTING min_age_to_force_merge_seconds = ${seconds}`,
    });
  const [age] = await (
    await client.query({
      query: `SELECT extract(create_table_query, 'min_age_to_force_merge_seconds = (\\d+)') AS seconds FROM system.tables WHERE database = {database:String} AND name = {table:String}`,
      query_params: { database, table },
      format: 'JSONEachRow',
    })
  ).json<{ seconds: string }>();
  const seconds = Number(age?.seconds);
  if (!(seconds > 0)) return;
  await setAge(1);
  // The server looks for merges ever more seldom, up to ten minutes apart, and now at once.
  for (const verb of ['STOP', 'START'])
    await client.command({ query: `SYSTEM ${verb} MERGES ${table}` });
  await waitForMerges(client, database, { table, parts: 1 });
  await setAge(seconds);
}

/**
 * Writes so many of the people again, in fifty inserts. Resolves when the server merges nothing.
 */
export async function writeDay(
  client: ClickHouseClient,
  of: { people: number; written: number; table: string; database: string },
): Promise<void> {
  const { people, written, table, database } = of;
  const count = Math.floor(written / DAY_BLOCKS);
  for (let block = 0; block < DAY_BLOCKS; block++) {
    const from = Math.floor((people / DAY_BLOCKS) * block);
    await client.command({ query: insertOf(table, { from, count }) });
  }
  await waitForMerges(client, database);
}

/**
 * Resolves when the server merges none of these tables any more, and this one has at most so many
 * parts; or after half an hour.
 */
export async function waitForMerges(
  client: ClickHouseClient,
  database: string,
  { table, parts }: { table: string; parts: number } = { table: '', parts: 0 },
): Promise<void> {
  for (const deadline = performance.now() + MERGES_MS; performance.now() < deadline;) {
    const answer = await client.query({
      query: `SELECT (SELECT count() FROM system.merges WHERE database = {database:String}) AS running,
        (SELECT count() FROM system.parts WHERE active AND database = {database:String} AND table = {table:String}) AS parts`,
      query_params: { database, table },
      format: 'JSONEachRow',
    });
    const [found] = await answer.json<{ running: string; parts: string }>();
    if (Number(found?.running) === 0 && Number(found?.parts) <= parts) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

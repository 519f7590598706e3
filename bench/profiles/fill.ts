import type { ClickHouseClient } from '@clickhouse/client';

/** Rows of one INSERT, for every number of people: the server merges them as those of the sink. */
const BLOCK = 200_000;
/** Merges get this long to end, ms. */
const MERGES_MS = 600_000;
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
  if (Number(stored.rows) === people) return;
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

/** Resolves when the server merges none of these tables any more, or after ten minutes. */
export async function waitForMerges(client: ClickHouseClient, database: string): Promise<void> {
  for (const deadline = performance.now() + MERGES_MS; performance.now() < deadline;) {
    const answer = await client.query({
      query: 'SELECT count() AS running FROM system.merges WHERE database = {database:String}',
      query_params: { database },
      format: 'JSONEachRow',
    });
    const [merges] = await answer.json<{ running: string }>();
    if (Number(merges?.running) === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { splitStatements } from '../../platform/clickhouse/migrate.ts';

/** What is generated; the same numbers give the same rows. */
export interface Volume {
  events: number;
  people: number;
  /** Days that the events lie in; the last one ends at `until`. */
  days: number;
  /** Unix seconds. */
  until: number;
  /** People one in so many of whom has a second, joined name. */
  mergedOneIn: number;
}

export const ACCOUNT = 1;
export const STEPS = 12;
/** Names of events: twelve that funnels ask for, and as much other traffic again. */
export const NAMES = 24;
const CHUNK = 5_000_000;
const CHECKOUT = join(import.meta.dirname, '../..');
const LIVE = [
  'events/ddl/0001_events.sql',
  'profiles/ddl/0003_profiles.sql',
  'identities/ddl/0004_identities_flat.sql',
  'profiles/ddl/0005_people.sql',
  'catalogue/ddl/0006_event_catalogue.sql',
];

/** Properties as JSON text and people as UUIDs, in the order that such systems use. */
const JSON_TABLE = `CREATE TABLE events_json (
  uuid UUID, event String, properties String CODEC(ZSTD(3)), timestamp DateTime64(6, 'UTC'), team_id Int64, distinct_id String, person_id UUID
) ENGINE = MergeTree PARTITION BY toYYYYMM(timestamp) ORDER BY (team_id, toDate(timestamp), event, cityHash64(distinct_id), cityHash64(uuid))`;

/** One generated event, as expressions over `number`: hashes of it, so that every column is spread independently. */
function columns({ people, days, until }: Volume): Record<string, string> {
  const hash = (salt: number) => `intHash64(number * 8 + ${salt})`;
  return {
    at: `toDateTime64(${until} - ${days} * 86400, 3, 'UTC') + toIntervalMillisecond(${hash(1)} % ${days * 86_400_000})`,
    event: `concat('step_', toString(1 + ${hash(2)} % ${NAMES}))`,
    person: `${hash(3)} % ${people}`,
    category: `arrayElement(['audio', 'video', 'books', 'toys', 'garden'], 1 + ${hash(4)} % 5)`,
    product: `concat('sku-', toString(${hash(5)} % 10000))`,
    price: `toFloat64(10000 + ${hash(6)} % 5000000)`,
  };
}

/** Creates the live tables and the JSON one, and fills them in chunks, which bounds memory. */
export async function fill(client: ClickHouseClient, volume: Volume, say: (text: string) => void): Promise<void> {
  const statements = LIVE.flatMap((file) => splitStatements(readFileSync(join(CHECKOUT, 'projections', file), 'utf8')));
  for (const query of [...statements, JSON_TABLE]) await client.command({ query });
  const { at, event, person, category, product, price } = columns(volume);
  for (let from = 0; from < volume.events; from += CHUNK) {
    const numbers = `numbers_mt(${from}, ${Math.min(CHUNK, volume.events - from)})`;
    await client.command({
      query: `INSERT INTO events (account_id, app_id, type, event, user_id, message_id, timestamp, received_at, properties, property_numbers, revenue, currency, source, library_name, _offset)
        SELECT ${ACCOUNT}, 1, 'track', ${event} AS e, concat('user-', toString(${person})) AS u, toString(number), ${at} AS t, t,
          map('category', ${category} AS c, 'product_id', ${product} AS p, 'price', toString(${price} AS n)), map('price', n), if(e = 'step_4', n, 0), 'IRR', 'sdk', 'web', number
        FROM ${numbers}`,
    });
    await client.command({
      query: `INSERT INTO events_json
        SELECT toUUID(concat('00000000-0000-4000-8000-', leftPad(hex(number), 12, '0'))), ${event},
          concat('{"$lib":"web","category":"', ${category}, '","product_id":"', ${product}, '","price":', toString(${price}), '}'),
          ${at}, ${ACCOUNT}, concat('user-', toString(${person} AS u)), toUUID(concat('00000000-0000-4000-9000-', leftPad(hex(intHash64(u)), 12, '0')))
        FROM ${numbers}`,
    });
    say(`${Math.min(volume.events, from + CHUNK).toLocaleString('en')} events`);
  }
  await fillPeople(client, volume);
  for (let waited = 0; waited < 600 && (await merging(client)); waited++) await new Promise((resolve) => setTimeout(resolve, 1000));
}

async function fillPeople(client: ClickHouseClient, { people, mergedOneIn, until }: Volume): Promise<void> {
  await client.command({
    query: `INSERT INTO profiles (account_id, name, user_id, event_count, first_seen, last_seen, city, traits, trait_numbers)
      SELECT ${ACCOUNT}, concat('user-', toString(number)) AS n, n, 1, fromUnixTimestamp64Milli(toInt64(${until - 90 * 86_400}) * 1000), fromUnixTimestamp64Milli(toInt64(${until}) * 1000),
        'تهران', map('plan', arrayElement(['free', 'pro'], 1 + number % 2), 'visits', toString(number % 50)), map('visits', toFloat64(number % 50)) FROM numbers(${people})`,
  });
  await client.command({
    query: `INSERT INTO identities_flat (account_id, name, canonical)
      SELECT ${ACCOUNT}, arrayJoin([concat('user-', toString(number * ${mergedOneIn})), concat('user-', toString(number * ${mergedOneIn} + 1))]), concat('user-', toString(number * ${mergedOneIn}))
      FROM numbers(${Math.floor(people / mergedOneIn)})`,
  });
  await client.command({
    query: `INSERT INTO event_catalogue (account_id, day, event, _epoch, _partition, chunk, count, prop_keys, last_seen, version, chunk_from)
      SELECT account_id, toDate(timestamp, 'Asia/Tehran') AS day, event, 0, cityHash64(user_id) % 4 AS p, 0, count(), ['category', 'price', 'product_id'], max(timestamp), count(), 0
      FROM events GROUP BY account_id, day, event, p`,
  });
}

async function merging(client: ClickHouseClient): Promise<boolean> {
  const answer = await client.query({ query: 'SELECT count() AS n FROM system.merges WHERE database = currentDatabase()', format: 'JSONEachRow' });
  const [row] = await answer.json<{ n: string }>();
  return Number(row?.n ?? 0) > 0;
}

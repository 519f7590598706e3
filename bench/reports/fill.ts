import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { splitStatements } from '../../platform/clickhouse/migrate.ts';

/** What is generated; the same numbers give the same rows. */
export interface Volume {
  events: number;
  people: number;
  /** Number of days with events; the last one ends at `until`. */
  days: number;
  /** Unix seconds. */
  until: number;
  /** One in so many people has a second, merged distinct id. */
  mergedOneIn: number;
  shape: Shape;
}

/**
 * `even`: every person has as many events as another, and nearly everybody does every step.
 * `funnel`: few people have most events (Zipf, the first thousand flattened), and 100, 40, 15 and 8
 * percent of them reach the first four steps; the further ones fewer.
 */
export type Shape = 'even' | 'funnel';

export const ACCOUNT = 1;
/** Names of events: twelve that funnels select, and as many others. */
export const NAMES = 24;
/** Share of people who ever do a step, by step, in thousandths. */
const REACH = [1000, 400, 150, 80, 60, 50, 40, 35, 30, 25, 20, 20];
const ZIPF_FLATTENED = 1000;
const CHUNK = 2_000_000;
const CHECKOUT = join(import.meta.dirname, '../..');
const LIVE = [
  'events/ddl/0001_events.sql',
  'events/ddl/0020_merge_more_parts_at_once.sql',
  'events/ddl/0021_trace.sql',
  'events/ddl/0025_message_ids.sql',
  'events/ddl/0080_recompress.sql',
  'events/ddl/0093_fewer_merges.sql',
  'events/ddl/0094_codecs_of_reports.sql',
  'events/ddl/0095_codec_of_properties.sql',
  'events/ddl/0096_property_words.sql',
  'profiles/ddl/0003_profiles.sql',
  'identities/ddl/0004_identities_flat.sql',
  'profiles/ddl/0005_people.sql',
  'catalogue/ddl/0006_event_catalogue.sql',
];

/**
 * The same events as a system keeps them that has properties as one JSON text and people as UUIDs,
 * in the order that such systems use: an event carries the person that its sender was then, a table
 * of overrides says who they are since, and people have a table of their own.
 */
const JSON_TABLES = [
  `CREATE TABLE events_json (
    uuid UUID, event String, properties String CODEC(ZSTD(3)), timestamp DateTime64(6, 'UTC'), team_id Int64, distinct_id String, person_id UUID
  ) ENGINE = MergeTree PARTITION BY toYYYYMM(timestamp) ORDER BY (team_id, toDate(timestamp), event, cityHash64(distinct_id), cityHash64(uuid))`,
  `CREATE TABLE person_overrides (team_id Int64, distinct_id String, person_id UUID, is_deleted Int8, version Int64)
    ENGINE = ReplacingMergeTree(version) ORDER BY (team_id, distinct_id)`,
  `CREATE TABLE persons (id UUID, team_id Int64, properties String CODEC(ZSTD(3)), is_deleted Int8, version UInt64)
    ENGINE = ReplacingMergeTree(version) ORDER BY (team_id, id)`,
];

/** UUID of a person, as SQL over the number of the name. */
const personId = (number: string): string =>
  `toUUID(concat('00000000-0000-4000-', leftPad(hex(bitShiftRight(intHash64(${number}), 48)), 4, '0'), '-', leftPad(hex(bitAnd(intHash64(${number}), 281474976710655)), 12, '0')))`;

/**
 * What an event of a shop's web page carries, as SQL: each value once, so that both tables hold the
 * same.
 */
interface EventSql {
  at: string;
  event: string;
  person: string;
  /** Columns and keys of the JSON text that say where an event came from. */
  context: Record<string, string>;
  properties: Record<string, string>;
  price: string;
}

/**
 * One generated event, as expressions over `number`: hashes of it, so that every column is spread
 * independently. Days follow each other, as events come in.
 */
function eventSql({ events, people, days, until, shape }: Volume): EventSql {
  const hash = (salt: number) => `intHash64(number * 16 + ${salt})`;
  const one = (salt: number, values: readonly string[]) =>
    `arrayElement([${values.map((value) => `'${value}'`).join(', ')}], 1 + ${hash(salt)} % ${values.length})`;
  const product = `toString(${hash(5)} % 10000)`;
  const uniform = `${hash(3)} / ${2 ** 64}.`;
  const person =
    shape === 'even'
      ? `${hash(3)} % ${people}`
      : `toUInt64(${ZIPF_FLATTENED} * (exp(${uniform} * log(${people / ZIPF_FLATTENED + 1})) - 1))`;
  const drawn = `1 + ${hash(2)} % ${NAMES}`;
  const reaches = `intHash64((${person}) * 16 + 9) % 1000 < [${REACH.join(', ')}][${drawn}]`;
  // What belongs to a person or device is theirs in every event.
  const own = (salt: number, values: readonly string[]) =>
    `arrayElement([${values.map((value) => `'${value}'`).join(', ')}], 1 + intHash64((${person}) * 16 + ${salt}) % ${values.length})`;
  const day = `intDiv(number * ${days}, ${events})`;
  return {
    at: `toDateTime64(${until} - ${days} * 86400, 3, 'UTC') + toIntervalMillisecond(${day} * 86400000 + ${hash(1)} % 86400000)`,
    event:
      shape === 'even'
        ? `concat('step_', toString(${drawn}))`
        : // who does not reach a step does one of the others that no funnel selects
          `concat('step_', toString(if(${drawn} > ${REACH.length} OR ${reaches}, ${drawn}, ${REACH.length} + ${drawn})))`,
    person,
    context: {
      ip: `concat('5.', toString(1 + (${person}) % 200), '.', toString(intDiv(${person}, 200) % 250), '.', toString(1 + (${person}) % 250))`,
      user_agent: own(1, USER_AGENTS),
      browser_name: own(1, ['Chrome', 'Safari', 'Firefox', 'Chrome']),
      browser_version: own(1, ['126.0.0.0', '17.4', '127.0', '125.0.0.0']),
      os_name: own(1, ['Windows', 'iOS', 'Linux', 'Android']),
      os_version: own(1, ['10', '17.4', 'x86_64', '14']),
      device_type: own(1, ['desktop', 'mobile', 'desktop', 'mobile']),
      library_name: "'web'",
      library_version: "'1.4.0'",
      page_url: `concat('https://shop.example/fa/product/', ${product}, '/kafsh-e-varzeshi')`,
      page_path: `concat('/fa/product/', ${product}, '/kafsh-e-varzeshi')`,
      page_referrer: one(7, [
        'https://www.google.com/',
        '',
        'https://shop.example/fa/search?q=%DA%A9%D9%81%D8%B4',
        'https://l.instagram.com/',
      ]),
      page_title: `concat('کفش ورزشی مردانه مدل ', ${product}, ' | فروشگاه نمونه')`,
      utm_source: own(2, ['google', '', 'instagram', '']),
      utm_medium: own(2, ['cpc', '', 'social', '']),
      utm_campaign: own(2, ['nowruz-1405', '', 'yalda', '']),
      locale: "'fa-IR'",
      timezone: "'Asia/Tehran'",
      // A new one every day.
      session_id: `lower(hex(intHash64((${person}) * 512 + ${day})))`,
      country: "'IR'",
      region: own(3, ['Tehran', 'Isfahan', 'Fars', 'Khorasan']),
      city: own(3, ['تهران', 'اصفهان', 'شیراز', 'مشهد']),
    },
    properties: {
      category: one(4, ['audio', 'video', 'books', 'toys', 'garden']),
      product_id: `concat('sku-', ${product})`,
      brand: `concat('brand-', toString(${hash(5)} % 300))`,
      list: one(8, ['search', 'home', 'recommended', 'category']),
      coupon: one(9, ['', '', '', 'YALDA', 'WELCOME10']),
    },
    price: `toFloat64(10000 + ${hash(6)} % 5000000)`,
  };
}

const USER_AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'Mozilla/5.0 (Linux; Android 14; SM-A546B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 Mobile Safari/537.36',
];

/**
 * Both tables get the same rows: one SELECT gives the values, two inserts take them in their
 * shapes.
 */
function inserts(volume: Volume, numbers: string): string[] {
  const { at, event, person, context, properties, price } = eventSql(volume);
  const [fields, keys] = [Object.keys(context), Object.keys(properties)];
  const values = Object.entries({ ...context, ...properties }).map(
    ([name, sql]) => `${sql} AS ${name}`,
  );
  const rows = `SELECT number, ${at} AS t, ${event} AS e, ${person} AS u, ${price} AS price, ${values.join(', ')} FROM ${numbers}`;
  const texts = [...keys, ...fields].map((name) => `'"${name}":"', ${name}, '",'`);
  return [
    `INSERT INTO events (account_id, app_id, type, event, user_id, anonymous_id, message_id, timestamp, received_at, properties, property_numbers, revenue, currency, source, _offset, ${fields.join(', ')})
      SELECT ${ACCOUNT}, 1, 'track', e, concat('user-', toString(u)), lower(hex(intHash64(u))), lower(hex(intHash64(number))), t, t,
        map(${keys.map((key) => `'${key}', ${key}`).join(', ')}, 'price', toString(price)), map('price', price), if(e = 'step_4', price, 0), 'IRR', 'sdk', number, ${fields.join(', ')}
      FROM (${rows})`,
    `INSERT INTO events_json
      SELECT toUUID(concat('00000000-0000-4000-8000-', leftPad(hex(number), 12, '0'))), e,
        concat('{', ${texts.join(', ')}, '"anonymous_id":"', lower(hex(intHash64(u))), '","price":', toString(price), '}'),
        t, ${ACCOUNT}, concat('user-', toString(u)), ${personId('u')}
      FROM (${rows})`,
  ];
}

/** Creates the live tables and the JSON one, and fills them in chunks, which bounds memory. */
export async function fill(
  client: ClickHouseClient,
  volume: Volume,
  say: (text: string) => void,
): Promise<void> {
  const statements = LIVE.flatMap((file) =>
    splitStatements(readFileSync(join(CHECKOUT, 'projections', file), 'utf8')),
  );
  for (const query of [...statements, ...JSON_TABLES]) await client.command({ query });
  for (let from = 0; from < volume.events; from += CHUNK) {
    const numbers = `numbers_mt(${from}, ${Math.min(CHUNK, volume.events - from)})`;
    for (const query of inserts(volume, numbers)) await client.command({ query });
    say(`${Math.min(volume.events, from + CHUNK).toLocaleString('en')} events`);
  }
  await fillPeople(client, volume);
  for (let waited = 0; waited < 600 && (await merging(client)); waited++)
    await new Promise((resolve) => setTimeout(resolve, 1000));
}

async function fillPeople(
  client: ClickHouseClient,
  { people, mergedOneIn, until }: Volume,
): Promise<void> {
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
    query: `INSERT INTO person_overrides SELECT ${ACCOUNT}, concat('user-', toString(number * ${mergedOneIn} + 1)), ${personId(`number * ${mergedOneIn}`)}, 0, 1
      FROM numbers(${Math.floor(people / mergedOneIn)})`,
  });
  await client.command({
    query: `INSERT INTO persons SELECT ${personId('number')}, ${ACCOUNT}, concat('{"plan":"', arrayElement(['free', 'pro'], 1 + number % 2), '","visits":', toString(number % 50), ',"city":"تهران"}'), 0, 1
      FROM numbers(${people})`,
  });
  await client.command({
    query: `INSERT INTO event_catalogue (account_id, day, event, _epoch, _partition, chunk, count, prop_keys, last_seen, version, chunk_from)
      SELECT account_id, toDate(timestamp, 'Asia/Tehran') AS day, event, 0, cityHash64(user_id) % 4 AS p, 0, count(), ['brand', 'category', 'coupon', 'list', 'price', 'product_id'], max(timestamp), count(), 0
      FROM events GROUP BY account_id, day, event, p`,
  });
}

async function merging(client: ClickHouseClient): Promise<boolean> {
  const answer = await client.query({
    query: 'SELECT count() AS n FROM system.merges WHERE database = currentDatabase()',
    format: 'JSONEachRow',
  });
  const [row] = await answer.json<{ n: string }>();
  return Number(row?.n ?? 0) > 0;
}

import type { ClickHouseClient } from '@clickhouse/client';
import { partitionOf } from '../../events/partition.ts';
import { NO_ACCRUAL } from '../../events/accrual.ts';
import { clickhouseProfiles } from '../../projections/profiles/store.ts';
import type { Profile } from '../../projections/profiles/profile.ts';
import { NO_WRITES } from '../../projections/profiles/writes.ts';

const EVENTS_CHUNK = 1_000_000;
const PROFILES_CHUNK = 50_000;
const DAYS = 30;

/** Adds generated events of the last 30 days to a table like `events`, spread over the accounts. */
export async function storeEvents(
  client: ClickHouseClient,
  { table, accounts, events }: { table: string; accounts: readonly number[]; events: number },
): Promise<void> {
  const at = `now64(3) - toIntervalSecond(intHash64(number) % ${DAYS * 86_400})`;
  for (let from = 0; from < events; from += EVENTS_CHUNK)
    await client.command({
      query: `INSERT INTO ${table} (account_id, app_id, type, event, user_id, message_id, timestamp, received_at, properties, property_numbers, source, _offset, session_id, page_url)
        SELECT arrayElement([${accounts.join(', ')}], 1 + number % ${accounts.length}), 1, 'track', 'product_viewed', concat('stored-', toString(intHash64(number) % 50000)), concat('stored-', toString(number)), ${at} AS t, t,
          map('product_id', concat('sku-', toString(number % 5000)), 'category', 'audio'), map('price', toFloat64(1000 + number % 977)), 'sdk', number, lower(hex(intHash64(number))), concat('https://shop.example/p/', toString(number % 5000))
        FROM numbers(${from}, ${Math.min(EVENTS_CHUNK, events - from)})`,
      clickhouse_settings: { max_execution_time: 0 },
    });
}

/** Stores a profile of one event for each person, as the sink would have: all are cold then. */
export async function storePeople(
  client: ClickHouseClient,
  options: { accounts: readonly number[]; peopleEach: number; epoch: number; partitions: number },
): Promise<void> {
  const { accounts, peopleEach, epoch, partitions } = options;
  const store = clickhouseProfiles({ client, cluster: '' });
  const { signal } = new AbortController();
  const profiles: Profile[] = [];
  const seen = Date.now();
  for (const accountId of accounts)
    for (let person = 0; person < peopleEach; person++) {
      const distinctId = `user-${person}`;
      const partition = partitionOf({ accountId, distinctId, partitions });
      profiles.push({
        ...{ accountId, distinctId, userId: distinctId, anonymousId: '', eventCount: 1 },
        ...{ last: { epoch, partition, offset: 0, index: 0 }, firstSeen: seen, lastSeen: seen },
        ...{ accrual: NO_ACCRUAL, writes: NO_WRITES },
      });
      if (profiles.length >= PROFILES_CHUNK) await store.save(profiles.splice(0), signal);
    }
  await store.save(profiles, signal);
}

import type { ClickHouseClient } from '@clickhouse/client';
import { expect } from 'vitest';
import { specifiedProfiles } from '../../projections/profiles/testing/reference-fold.ts';
import { aliasesOf, eventsOf, type SentEvents, type Stored } from './commerce-load.ts';
import { expectedPeople, storedPeople } from './expected-people.ts';
import { untilStored, type Ledger } from './ledger.ts';
import type { LoadReport } from './load.ts';
import { eventually, rows, sleep, type TestAccount } from './stack.ts';

const PLACES = `SELECT message_id, _epoch, _partition, _offset, _index, account_id, toUnixTimestamp64Milli(timestamp) AS timestamp,
  toUnixTimestamp64Milli(received_at) AS received_at FROM events WHERE account_id = {a:UInt64}`;
const FOLDED = `SELECT name, event_count, toString(toInt128(total_revenue * 1000)) AS thousandths, order_count FROM profiles FINAL WHERE account_id = {a:UInt64}`;

/** The catalogue beside the stored events: they must say the same. */
const CATALOGUE = `SELECT toString(day) AS day, event, sum(event_catalogue.count) AS count, arraySort(groupUniqArrayArray(prop_keys)) AS keys, toUnixTimestamp64Milli(max(event_catalogue.last_seen)) AS last
  FROM event_catalogue FINAL WHERE account_id = {a:UInt64} GROUP BY day, event ORDER BY day, event`;
const COUNTED = `SELECT toString(toDate(timestamp, 'Asia/Tehran')) AS day, event, count() AS count, arraySort(groupUniqArrayArray(mapKeys(properties))) AS keys, toUnixTimestamp64Milli(max(timestamp)) AS last
  FROM events WHERE account_id = {a:UInt64} GROUP BY day, event ORDER BY day, event`;

/** The traffic of an account, as its client knows it. */
export interface CommerceTraffic {
  account: TestAccount;
  ledger: Ledger;
  sayings: SentEvents;
  stop: () => Promise<LoadReport>;
}

/**
 * Compares profiles and people with an in-memory fold of what was answered 200, once everything
 * is stored.
 */
export async function verifyCommerce(
  client: ClickHouseClient,
  { account, ledger, sayings, stop }: CommerceTraffic,
  facts: Record<string, unknown>,
): Promise<void> {
  const report = await stop();
  const found = await untilStored(client, account.accountId, ledger, 180_000);
  expect(report.refusals).toEqual([]);
  expect(ledger.open.size).toBe(0);
  expect(found).toEqual({ lost: [], doubled: [], unknown: [] });
  const stored = await rows<Stored>(client, PLACES, { a: account.accountId });
  const events = eventsOf(stored, sayings);
  expect(events.length).toBe(ledger.durable.size);
  const folded = () =>
    rows<{ name: string; event_count: number; thousandths: string; order_count: number }>(
      client,
      FOLDED,
      { a: account.accountId },
    );
  await eventually(
    { ms: 120_000, every: 1000, waitingFor: 'every event to be folded' },
    async () => {
      const count = (await folded()).reduce((sum, { event_count }) => sum + event_count, 0);
      return count >= events.length ? true : undefined;
    },
  );
  // Whatever comes late must change nothing.
  await sleep(3000);
  const profiles = new Map((await folded()).map(({ name, ...figures }) => [name, figures]));
  const specified = specifiedProfiles(events);
  const expected = [...specified].map(
    ([key, { event_count, total_revenue, order_count }]): [string, object] => [
      key.slice(key.indexOf('/') + 1),
      { event_count, thousandths: String(total_revenue), order_count },
    ],
  );
  expect(profiles).toEqual(new Map(expected));
  const people = expectedPeople(events, aliasesOf(stored, sayings));
  expect(people.size).toBeLessThan(profiles.size);
  await eventually(
    { ms: 60_000, every: 1000, waitingFor: 'the aliases to be taken in' },
    async () => {
      const names = [...(await storedPeople(client, account.accountId)).keys()].sort();
      return JSON.stringify(names) === JSON.stringify([...people.keys()].sort()) ? true : undefined;
    },
  ).catch(() => undefined);
  expect(await storedPeople(client, account.accountId)).toEqual(people);
  const counted = await rows(client, COUNTED, { a: account.accountId });
  const catalogue = () => rows(client, CATALOGUE, { a: account.accountId });
  await eventually({ ms: 60_000, every: 1000, waitingFor: 'the catalogue' }, async () =>
    JSON.stringify(await catalogue()) === JSON.stringify(counted) ? true : undefined,
  ).catch(() => undefined);
  expect(await catalogue()).toEqual(counted);
  console.log(
    JSON.stringify({
      ...facts,
      answered: ledger.durable.size,
      retries: report.retries,
      names: profiles.size,
      people: people.size,
    }),
  );
}

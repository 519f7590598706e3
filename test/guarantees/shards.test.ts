/**
 * Operators' commands on a stack with two shards of ClickHouse: what they leave is what one server
 * that reads the same log has.
 */
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eachShard, onAccount } from '../../platform/clickhouse/shards.ts';
import { COLUMNS } from '../../projections/events/insert-batch.ts';
import { post } from '../support/client.ts';
import { startOneServer, type OneServer } from '../support/one-server.ts';
import { testTimeout } from '../support/test-timeout.ts';
import {
  createAccount,
  eventually,
  ravand,
  readyStack,
  rows,
  type TestAccount,
} from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const DAY = 86_400_000;
const PEOPLE = 12;
/** Of each account: what `eventsOf` sends. */
const EVENTS = 5 * PEOPLE;

/** The rows of each projection without what counts how often it was written. */
const PICTURES = {
  events: (table) =>
    `SELECT ${COLUMNS.join(', ')} FROM ${table} WHERE $OF ORDER BY account_id, _partition, _offset, _index`,
  profiles: (table) => `SELECT * FROM ${table} FINAL WHERE $OF ORDER BY account_id, name`,
  identities: (table) =>
    `SELECT account_id, name, canonical FROM ${table} FINAL WHERE $OF ORDER BY account_id, name`,
  catalogue: (table) =>
    `SELECT account_id, day, event, sum(count) AS counted, max(last_seen) AS last FROM ${table} FINAL WHERE $OF GROUP BY account_id, day, event ORDER BY account_id, day, event`,
  quality: (table) =>
    `SELECT account_id, day, kind, code, field, sum(count) AS counted FROM ${table} FINAL WHERE $OF GROUP BY account_id, day, kind, code, field ORDER BY account_id, day, kind, code, field`,
} satisfies Record<string, (table: string) => string>;
type ProjectionName = keyof typeof PICTURES;
const TABLES: Record<ProjectionName, string> = {
  ...{ events: 'events', profiles: 'profiles', quality: 'ingest_quality' },
  ...{ identities: 'identities_flat', catalogue: 'event_catalogue' },
};
const PROJECTIONS = Object.keys(TABLES) as ProjectionName[];

/** Without a name, and without anybody. */
const REJECTED = [
  { type: 'track', user_id: 'user-0' },
  { type: 'track', event: 'visited' },
];

/** People with orders of two months, traits, and a device that an alias makes theirs. */
function eventsOf(account: number): object[] {
  const sent = Array.from({ length: PEOPLE }, (_, n) => {
    const [user_id, anonymous_id] = [`user-${n}`, `device-${n}`];
    const timestamp = new Date(Date.now() - (n % 2) * 40 * DAY).toISOString();
    const revenue = account + n / 4;
    return [
      { type: 'track', event: 'visited', anonymous_id, timestamp },
      { type: 'identify', user_id, traits: { plan: n % 3 ? 'free' : 'gold', level: n } },
      { type: 'track', event: 'order_completed', user_id, timestamp, properties: { revenue } },
      { type: 'alias', user_id, previous_id: anonymous_id },
      { type: 'track', event: 'visited', user_id, anonymous_id, properties: { n } },
    ];
  });
  return [...sent.flat(), ...REJECTED];
}

describe('two shards of ClickHouse hold what one server holds', () => {
  const client = openClickhouse();
  let accounts: TestAccount[];
  let one: OneServer;
  /** What one server has of each projection, from the log. */
  const expected: Partial<Record<ProjectionName, unknown[]>> = {};

  const picture = (from: ClickHouseClient, projection: ProjectionName, suffix = '') => {
    const of = `account_id IN (${accounts.map(({ accountId }) => accountId).join(', ')})`;
    const table = `${TABLES[projection]}${suffix}`;
    return rows(from, PICTURES[projection](table).replace('$OF', of));
  };
  const json = async <T>(command: Promise<string>) => JSON.parse(await command) as T;
  const replay = (...args: string[]) =>
    json<{ counts: Record<string, number> }>(ravand('replay', '--json', ...args));
  const rebuild = (...args: string[]) =>
    json<{ state: string; comparison: unknown }>(ravand('rebuild', '--json', ...args));
  const send = (account: TestAccount, batch: readonly object[]) =>
    expect
      .soft(post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch }))
      .resolves.toMatchObject({ status: 200 });
  const untilEverywhere = (of: TestAccount, events: number) =>
    eventually({ ms: 90_000, waitingFor: `${events} events of ${of.accountId}` }, async () => {
      const [found] = await rows<{
        stored: number;
        folded: number;
        counted: number;
        names: number;
      }>(
        onAccount(client, of.accountId),
        `SELECT (SELECT count() FROM events WHERE account_id = {a:UInt64}) AS stored,
          (SELECT sum(event_count) FROM profiles FINAL WHERE account_id = {a:UInt64}) AS folded,
          (SELECT sum(count) FROM event_catalogue FINAL WHERE account_id = {a:UInt64}) AS counted,
          (SELECT count() FROM identities_flat FINAL WHERE account_id = {a:UInt64}) AS names`,
        { a: of.accountId },
      );
      const counts = [found?.stored, found?.folded, found?.counted];
      return counts.every((n) => n === events) && found?.names === 2 * PEOPLE ? true : undefined;
    });

  beforeAll(async () => {
    accounts = [];
    for (const name of ['a', 'b', 'c', 'd']) accounts.push(await createAccount(`shards ${name}`));
    for (const account of accounts) await send(account, eventsOf(account.accountId));
    const starting = startOneServer();
    for (const account of accounts) await untilEverywhere(account, EVENTS);
    one = await starting;
    await one.ravand('replay', '--topic', 'events.normalised');
    expected.events = await picture(one.client, 'events');
    for (const projection of PROJECTIONS.slice(1)) {
      await one.ravand('rebuild', projection, '--into', 'one');
      expected[projection] = await picture(one.client, projection, '_one');
    }
  }, testTimeout(600_000));
  afterAll(() => one.close());

  it('as the services wrote it, with the accounts on both shards', async () => {
    for (const projection of PROJECTIONS)
      expect(await picture(client, projection), projection).toEqual(expected[projection]);
    expect(expected.events).toHaveLength(accounts.length * EVENTS);
    for (const shard of eachShard(client))
      expect(await picture(shard, 'events')).toHaveLength((accounts.length / 2) * EVENTS);
  });

  it('after a replay of what both had lost', async () => {
    for (const { accountId } of accounts)
      await onAccount(client, accountId).command({
        query: `DELETE FROM events WHERE account_id = ${accountId} AND _index % 3 = 1`,
        clickhouse_settings: { lightweight_deletes_sync: '2' },
      });
    const left = (await picture(client, 'events')).length;
    const lost = accounts.length * EVENTS - left;
    expect(lost).toBeGreaterThan(0);
    const { counts } = await replay('--topic', 'events.raw');
    expect(counts).toMatchObject({ new: lost, refused: 0, would_change: 0 });
    expect(await picture(client, 'events')).toEqual(expected.events);
    expect((await replay('--topic', 'events.raw')).counts).toMatchObject({ new: 0 });
  });

  it.each(PROJECTIONS)(
    'after a rebuild of %s, which is compared with the live tables and swapped in',
    async (projection) => {
      const into = [projection, '--into', 'again'];
      expect(await rebuild(...into)).toMatchObject({ state: 'caught up' });
      expect(await picture(client, projection, '_again')).toEqual(expected[projection]);
      const swapped = await rebuild(...into, '--compare', '--swap');
      expect(swapped).toMatchObject({ state: 'swapped', comparison: { differing: 0 } });
      expect(await picture(client, projection)).toEqual(expected[projection]);
    },
    testTimeout(600_000),
  );

  it(
    'after a person of each shard was erased, and with events that came after the swaps',
    async () => {
      const [first, second] = accounts;
      if (!first || !second) throw new Error('two accounts were expected');
      for (const { accountId } of [first, second]) {
        const person = ['--account', String(accountId), '--user-id', 'user-1'];
        expect(await ravand('erase', ...person)).toMatch(/removed/);
      }
      const names = ['user-1', 'device-1'];
      const isErased = (row: Record<string, unknown>) =>
        [first, second].some(({ accountId }) => accountId === row['account_id']) &&
        names.some((name) => [row['user_id'], row['anonymous_id'], row['name']].includes(name));
      for (const projection of ['events', 'profiles'] as const) {
        const left = (expected[projection] as Record<string, unknown>[]).filter(
          (row) => !isErased(row),
        );
        expect(left.length).toBeLessThan(expected[projection]?.length ?? 0);
        expect(await picture(client, projection), projection).toEqual(left);
      }
      for (const account of accounts.slice(2)) {
        await send(account, [{ type: 'track', event: 'returned', user_id: 'user-2' }]);
        await untilEverywhere(account, EVENTS + 1);
      }
    },
    testTimeout(600_000),
  );
});

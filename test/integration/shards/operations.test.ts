/** What changes tables and ends queries, on two shards; no Keeper and no ON CLUSTER. */
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createShadowTable,
  dropShadowTable,
  renameShadowTable,
} from '../../../ops/jobs/shadow-table.ts';
import {
  exchangeOnShards,
  exchangeState,
  tableId,
  tableNamed,
} from '../../../ops/jobs/table-ids.ts';
import { ClickhouseRows } from '../../../ops/erase/clickhouse-rows.ts';
import { deleteBookedRows } from '../../../ops/rebuild/deleted-rows.ts';
import { killOnAbort, killQuery } from '../../../platform/clickhouse/kill-on-abort.ts';
import { eachShard, onAccount } from '../../../platform/clickhouse/shards.ts';
import { createLog } from '../../../platform/log.ts';
import { clickhouseEventsTable } from '../../../projections/events/events-table.ts';
import { storeOnce } from '../../../projections/events/store-once.ts';
import { retentionRows } from '../../../projections/retention/clickhouse-rows.ts';
import { eventRowCodec } from '../../../schemas/codec.ts';
import { NEWEST_ROW_VERSION } from '../../../schemas/row-versions.ts';
import { eventually, rows } from '../../support/stack.ts';
import { EMPTY_ROW } from '../sink/sink-under-test.ts';
import { openTwoShards, type TwoShards } from './two-shards.ts';

const DAY = 86_400_000;
const log = createLog({ part: 'test', level: 'error' });
let shards: TwoShards;
let client: ClickHouseClient;
beforeAll(async () => {
  shards = await openTwoShards();
  ({ client } = shards);
}, 300_000);
afterAll(() => shards.close());

/** Rows of a partition, of the accounts 1 to 4 in turns and of two months. */
function batchOf(partition: number, count: number) {
  const encoded = Array.from({ length: count }, (_, index) => {
    const row = {
      ...EMPTY_ROW,
      ...{ _partition: partition, _offset: 1, _index: index, account_id: 1 + (index % 4) },
      ...{ event: 'acted', user_id: `u${index % 8}`, message_id: `${partition}-${index}` },
      ...{ timestamp: Date.now() - (index % 2) * 40 * DAY, received_at: Date.now() },
    };
    const { account_id, event, message_id, timestamp, received_at } = row;
    return {
      ...{ account_id, event, message_id, timestamp, received_at },
      position: { epoch: 0, offset: 1, index },
      datum: eventRowCodec.type.toBuffer(row),
    };
  });
  return {
    ...{ version: NEWEST_ROW_VERSION, token: `t${partition}`, partition, count },
    datums: encoded.map(({ datum }) => datum),
    rows: () => encoded,
  };
}

function store(batch: ReturnType<typeof batchOf>, repeat = false) {
  const options = {
    ...{ eventsTable: clickhouseEventsTable({ client, cluster: '' }), log, ownerEpoch: 1 },
    ...{ signal: AbortSignal.timeout(60_000), confirm: async () => {}, onRecover: () => undefined },
  };
  return storeOnce(options, batch, repeat);
}

const countsOf = (partition: number) =>
  rows<{ account: number; n: number; places: number }>(
    client,
    'SELECT account_id AS account, count() AS n, uniqExact(_index) AS places FROM events WHERE _partition = {p:UInt16} GROUP BY account ORDER BY account',
    { p: partition },
  );
const each = (n: number) => [1, 2, 3, 4].map((account) => ({ account, n, places: n }));

describe('the events sink on two shards', () => {
  it('stores a batch once when it is repeated under its token, and read back', async () => {
    const batch = batchOf(1, 400);
    await store(batch);
    await store(batch);
    await store(batch, true);
    expect(await countsOf(1)).toEqual(each(100));
  });

  it('stores a batch once that came while a shard was down', async () => {
    const second = shards.servers[1];
    const batch = batchOf(2, 400);
    const { token, version, count, datums } = batch;
    await second?.kill();
    const insert = { token, version, count, datums, queryId: `${token}::0:0` };
    const eventsTable = clickhouseEventsTable({ client, cluster: '' });
    const outcome = await eventsTable.insert(insert, AbortSignal.timeout(60_000));
    await expect(eventsTable.stored(2, batch.rows())).rejects.toThrow();
    await second?.start();
    expect(outcome.kind).toBe('uncertain');
    expect(await store(batch, true)).toMatchObject({ stored: 400 });
    expect(await countsOf(2)).toEqual(each(100));
  }, 300_000);

  it('completes a batch that one shard stored and the other refused', async () => {
    const [first, second] = eachShard(client);
    await second?.command({
      query: 'ALTER TABLE events ADD CONSTRAINT none CHECK _partition != 4',
    });
    const batch = batchOf(4, 8);
    const { refused } = await store(batch);
    expect(new Set(refused.map(({ row }) => row.account_id))).toEqual(new Set([1, 3]));
    expect(
      first && (await rows(first, 'SELECT count() AS n FROM events WHERE _partition = 4')),
    ).toEqual([{ n: 4 }]);
    await second?.command({ query: 'ALTER TABLE events DROP CONSTRAINT none' });
    await store(batch, true);
    expect(await countsOf(4)).toEqual(each(2));
  });

  it('ends an insert on every shard before it reads back', async () => {
    const query = `INSERT INTO identities_flat (account_id, name) SELECT number, toString(sleepEachRow(1)) FROM numbers(50) SETTINGS max_block_size = 1, min_insert_block_size_rows = 1`;
    const insert = client.command({ query, query_id: 'ends:1' }).then(
      () => 'stored',
      () => 'ended',
    );
    const running = () =>
      Promise.all(
        eachShard(client).map((shard) =>
          rows(shard, `SELECT 1 FROM system.processes WHERE startsWith(initial_query_id, 'ends:')`),
        ),
      );
    await eventually({ ms: 20_000, waitingFor: 'the insert to run' }, async () =>
      (await running()).some((found) => found.length > 0) ? true : undefined,
    );
    await clickhouseEventsTable({ client, cluster: '' }).endQueries('ends:');
    expect(await running()).toEqual([[], []]);
    expect(await insert).toBe('ended');
  });
});

it('an aborted query ends on the shard of its account', async () => {
  const aborting = new AbortController();
  const killing = killOnAbort(client, killQuery(client, log));
  const query = onAccount(killing, 3).query({
    query: 'SELECT sleepEachRow(1) FROM numbers(60) SETTINGS max_block_size = 1',
    ...{ query_id: 'aborted', abort_signal: aborting.signal, format: 'JSONEachRow' },
  });
  const outcome = query.then((answer) => answer.json()).catch(() => 'aborted');
  const shard = eachShard(client)[1];
  const isRunning = async () =>
    shard !== undefined &&
    (await rows(shard, `SELECT 1 FROM system.processes WHERE query_id = 'aborted'`)).length > 0;
  await eventually({ ms: 20_000, waitingFor: 'the query to run' }, async () =>
    (await isRunning()) ? true : undefined,
  );
  aborting.abort();
  expect(await outcome).toBe('aborted');
  await eventually({ ms: 20_000, waitingFor: 'the query to end' }, async () =>
    (await isRunning()) ? undefined : true,
  );
});

it('an erasure and retention remove rows of the account, from its shard', async () => {
  await store(batchOf(3, 400));
  const before = await countsOf(3);
  const erased = new ClickhouseRows(onAccount(client, 2), '');
  const cuts = [{ partition: 3, epoch: 0, offset: 2 }];
  const where = await erased.eventsWhere({ accountId: 2, names: ['u1'], cuts });
  expect(await erased.tables('events')).toEqual(['events']);
  expect(await erased.delete('events', where)).toBe(50);
  const retention = retentionRows(client, '');
  const expired = { accountId: 4, below: Date.now() - 30 * DAY, receivedBefore: Date.now() + DAY };
  const days = await retention.days(expired);
  for (const day of days) await retention.delete({ ...expired, day });
  const database = {
    query: () =>
      Promise.resolve({
        rows: [{ account_id: '3', below: Date.now() + DAY, receivedBefore: Date.now() + DAY }],
      }),
  };
  await deleteBookedRows({
    ...{ client, database: database as never, cluster: '', table: 'events', since: 0 },
  });
  expect(before).toEqual(each(100));
  expect(days).toHaveLength(1);
  expect(await countsOf(3)).toEqual([
    { account: 1, n: 100, places: 100 },
    { account: 2, n: 50, places: 50 },
  ]);
});

describe('a table that is swapped in on two shards', () => {
  const shadow = () => ({ client, settings: shards.settings, table: 'profiles', suffix: 'v2' });
  const servers = () => ({ clickhouse: client, settings: shards.settings as never });
  const live = () =>
    rows(client, 'SELECT account_id AS a, name FROM profiles FINAL ORDER BY a').then((found) =>
      found.map((row) => Object.values(row as object).join(' ')),
    );
  const add = (table: string, name: string) =>
    client.insert({
      table,
      values: [1, 2].map((account_id) => ({ account_id, name, event_count: 1 })),
      format: 'JSONEachRow',
    });

  it('is exchanged on each shard once, whatever interrupts it, and found again', async () => {
    await createShadowTable(shadow());
    await createShadowTable(shadow());
    await add('profiles', 'old');
    await add('profiles_v2', 'new');
    const exchanging = (await tableId(servers(), 'profiles_v2')) ?? '';
    const former = (await tableId(servers(), 'profiles')) ?? '';
    const tables = { live: 'profiles', name: 'profiles_v2', exchanging };
    await shards.servers[1]?.kill();
    await expect(exchangeOnShards(servers(), tables)).rejects.toThrow();
    await shards.servers[1]?.start();
    const ids = { exchanging, former };
    expect(exchangeState(await tableId(servers(), 'profiles'), ids)).toBe('partly');
    expect(await tableNamed(servers(), former)).toBeUndefined();
    expect(await live()).toEqual(['1 old', '2 new']);
    await exchangeOnShards(servers(), tables);
    await exchangeOnShards(servers(), tables);
    expect(exchangeState(await tableId(servers(), 'profiles'), ids)).toBe('whole');
    expect(await live()).toEqual(['1 new', '2 new']);
    expect(await tableNamed(servers(), former)).toBe('profiles_v2');

    await renameShadowTable(shadow(), 'former_7');
    await renameShadowTable(shadow(), 'former_7');
    expect(await tableNamed(servers(), former)).toBe('profiles_former_7');
    const names = await rows(client, 'SELECT name FROM profiles_former_7 FINAL');
    expect(names).toEqual([{ name: 'old' }, { name: 'old' }]);
    await dropShadowTable({ ...shadow(), suffix: 'former_7' });
    expect(await tableId(servers(), 'profiles_former_7')).toBeUndefined();
  }, 90_000);
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compareTables } from '../../../ops/rebuild/compare.ts';
import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import { TopicEpochs } from '../../../platform/log/epochs.ts';
import { createLog } from '../../../platform/log.ts';
import { insertRows } from '../../../projections/messages/insert-rows.ts';
import { rebuildMessages } from '../../../projections/messages/rebuild.ts';
import { messageRows } from '../../../projections/messages/rows.ts';
import { outcome, outcomeRecords } from '../../../projections/messages/testing/outcomes.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const log = createLog({ part: 'test', level: 'silent' });
const NO_EPOCHS = new TopicEpochs(new Map());
const HOUR = 3_600_000;

let database: TestDatabase;
beforeAll(async () => {
  const ddl = ['projections/messages/ddl/0060_messages.sql'];
  const tables = ['CREATE TABLE messages_rebuilt AS messages'];
  database = await openTestDatabase('messages_rebuild', { ddl, tables });
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['messages', 'messages_rebuilt'])
    await database.client.command({ query: `TRUNCATE TABLE ${table}` });
});

/** The topic: each message is in it twice, in whichever partitions. */
function topic(now: number): ConsumedMessage[][] {
  const sent = Array.from({ length: 60 }, (_, at) =>
    outcome({
      ...{ person_id: `p${at}`, run_id: 5 + (at % 3), account_id: 1 + (at % 2) },
      ...{ planned_at: now - HOUR, finished_at: now - at },
    }),
  );
  return [
    outcomeRecords([...sent.slice(0, 40), ...sent.slice(0, 10)], { partition: 0, from: 7 }),
    outcomeRecords([...sent.slice(40), ...sent.slice(10, 40)], { partition: 1 }),
  ];
}

/** What messages-sink has stored, some of it twice. */
async function store(records: readonly ConsumedMessage[]): Promise<void> {
  const rows = messageRows(records, { epochs: [], log });
  for (const part of [rows.slice(0, 30), rows.slice(20)])
    await insertRows(database.client, { table: 'messages', cluster: '', rows: part });
}

async function rebuild(partitions: readonly ConsumedMessage[][], keptFrom: number) {
  const positions: Record<string, { next: number; place: { offset: number; index: number } }> = {};
  await rebuildMessages({
    ...{ client: database.client, cluster: '', table: 'messages_rebuilt', log, epochs: NO_EPOCHS },
    keptFrom: () => keptFrom,
    ranges: partitions.map((records, partition) => ({
      partition,
      from: records[0]?.offset ?? 0,
      to: (records.at(-1)?.offset ?? -1) + 1,
    })),
    async *read({ partition, from, to }) {
      const all = partitions[partition] ?? [];
      for (let at = 0; at < all.length; at += 16)
        yield await Promise.resolve(
          all.slice(at, at + 16).filter(({ offset }) => offset >= from && offset < to),
        );
    },
    stored: (partition, next) => {
      positions[partition] = { next, place: { offset: next - 1, index: 0 } };
    },
  });
  return positions;
}

const compared = (positions: Awaited<ReturnType<typeof rebuild>>, now: number) =>
  compareTables({
    ...{ client: database.client, cluster: '', projection: 'messages', live: 'messages' },
    ...{ rebuilt: 'messages_rebuilt', positions, retentions: new Map(), now },
    onProgress: () => undefined,
  });

async function count(table: string): Promise<number> {
  const query = `SELECT count() AS n, uniqExact(message_id) AS ids FROM ${table} FINAL`;
  const answer = await database.client.query({ query, format: 'JSONCompactEachRow' });
  const [[rows, ids] = [0, 0]] = await answer.json<[number, number]>();
  expect(rows).toBe(ids);
  return rows;
}

describe('a rebuild of messages', () => {
  const now = Date.now();

  it('has one row of each message and equals the live table, however often it runs', async () => {
    const partitions = topic(now);
    for (const records of partitions) await store(records);
    const positions = await rebuild(partitions, 0);
    expect(await rebuild(partitions, 0)).toEqual(positions);
    expect([await count('messages'), await count('messages_rebuilt')]).toEqual([60, 60]);
    expect(await compared(positions, now)).toMatchObject({
      ...{ live: 60, rebuilt: 60, compared: 6, equal: 6, moved_on: 0, differing: 0 },
    });
  });

  it('tells what the live table has got since from what differs', async () => {
    const [first = [], second = []] = topic(now);
    await store(first);
    await store(second);
    const late = outcomeRecords([outcome({ person_id: 'late', planned_at: now - HOUR })], {
      ...{ partition: 1, from: second.length },
    });
    await store(late);
    const positions = await rebuild([first, second], 0);
    const found = await compared(positions, now);
    expect([found.moved_on, found.differing]).toEqual([1, 0]);
    const query = "ALTER TABLE messages_rebuilt UPDATE reason = 'x' WHERE person_id = 'p4'";
    await database.client.command({ query, clickhouse_settings: { mutations_sync: '2' } });
    const differing = await compared(positions, now);
    expect(differing.differing).toBe(1);
    expect(differing.examples).toEqual([{ what: '1 3 6', state: 'differs' }]);
  });

  it('leaves out what is past the retention of its account', async () => {
    const partitions = topic(now);
    await rebuild(partitions, now - HOUR + 1);
    expect(await count('messages_rebuilt')).toBe(0);
  });
});

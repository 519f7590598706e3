import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { ERASED } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { MessageRow } from './rows.ts';
import { messagesTask, type MessagesDeps } from './task.ts';
import { outcome, outcomeRecords } from './testing/outcomes.ts';

const PARTITION = 3;

let postgres: MigratedDatabase;
let deps: MessagesDeps;
let inserted: MessageRow[];
let failures: number;
let unreadable: number;

beforeAll(async () => {
  postgres = await migratedDatabase(['0024']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('DELETE FROM log_epochs');
  [inserted, failures, unreadable] = [[], 0, 0];
  deps = {
    ...{ database: postgres.database, cluster: '', signal: new AbortController().signal },
    log: createLog({ part: 'test', level: 'silent' }),
    clickhouse: {
      insert: ({ values }) => {
        if (failures-- > 0) return Promise.reject(new Error('unreachable'));
        inserted.push(...(values as unknown as MessageRow[]));
        return Promise.resolve({ executed: true, query_id: '', response_headers: {} });
      },
    },
    metrics: { stored: () => undefined, unreadable: () => unreadable++ },
  };
});

const records = (sent: Parameters<typeof outcomeRecords>[0], from = 0) =>
  outcomeRecords(sent, { partition: PARTITION, from });

/** What FINAL leaves of the rows: the highest version of each message. */
function final(): Map<string, string> {
  const found = new Map<string, MessageRow>();
  for (const row of inserted) {
    const known = found.get(row.message_id);
    if (!known || BigInt(row.version) >= BigInt(known.version)) found.set(row.message_id, row);
  }
  return new Map([...found].map(([id, { status }]) => [id, status]));
}

describe('the task of a partition of messages.outcomes', () => {
  it('commits a batch after its rows are stored, and tries again while ClickHouse does not answer', async () => {
    const task = await messagesTask(deps, PARTITION);
    failures = 1;
    expect(await task.process(records([outcome(), outcome({ person_id: 'ali' })], 8))).toBe(10);
    expect(inserted.map(({ person_id }) => person_id)).toEqual(['sara', 'ali']);
    expect(inserted[0]).toMatchObject({ planned_at: '2026-11-20T00:00:00.000Z', attempts: 1 });
  });

  it('leaves one row of a message that is read again, or that is in the topic twice', async () => {
    const sent = outcome();
    const batch = records([sent, sent]);
    await (await messagesTask(deps, PARTITION)).process(batch);
    // It was killed before its commit.
    await (await messagesTask(deps, PARTITION)).process(batch);
    expect(new Set(inserted.map(({ version }) => version)).size).toBe(2);
    expect(final()).toEqual(new Map([[sent.message_id, 'sent']]));
  });

  it('lets a record win that replaced another one when the log went back', async () => {
    const before = await messagesTask(deps, PARTITION);
    await before.process(records(['', '', outcome({ status: 'failed', reason: 'deadline' })]));
    await postgres.database.query(
      `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason) VALUES ($1, $2, 1, 1, 'the log went back')`,
      [TOPIC.messagesOutcomes, PARTITION],
    );
    const after = await messagesTask(deps, PARTITION);
    await after.process(records([outcome()], 1));
    expect([...final().values()]).toEqual(['sent']);
  });

  it('stores nothing of an erased message, and skips a damaged record', async () => {
    const task = await messagesTask(deps, PARTITION);
    const erased = outcome({ status: ERASED, message_id: '', person_id: '', user_id: '' });
    const skipped = outcome({ status: 'skipped', reason: 'erased', person_id: '', user_id: '' });
    expect(await task.process(records([erased, skipped, 'damaged', outcome()]))).toBe(4);
    expect([inserted.length, unreadable]).toEqual([1, 1]);
  });

  it('waits at a status of a newer release', async () => {
    const task = await messagesTask(deps, PARTITION);
    const newer = outcome({ status: 'parked' });
    await expect(task.process(records([outcome(), newer]))).rejects.toThrow('parked');
    expect(inserted).toEqual([]);
  });
});

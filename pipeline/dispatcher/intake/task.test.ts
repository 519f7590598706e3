import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { MessageChunk } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { intakeTask, type IntakeTaskDeps } from './task.ts';

const PARTITION = 2;
const FROZEN_AT = 1_700_000_000_123;

let postgres: MigratedDatabase;
let deps: IntakeTaskDeps;
let failures: number;
let seen: { copied: number; ignored: number; unreadable: number };

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0024', '0060']);
}, 60_000);
afterAll(() => postgres.close());

beforeEach(async () => {
  await postgres.database.query(
    'TRUNCATE message_chunks, message_positions, log_epochs, campaigns, accounts CASCADE',
  );
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a')");
  await postgres.database.query(
    `INSERT INTO campaigns (id, account_id, name, channel, definition) VALUES (3, 1, 'c', 'sms', '{}')`,
  );
  seen = { copied: 0, ignored: 0, unreadable: 0 };
  failures = 0;
  deps = {
    database: {
      query: ((text: string, values?: unknown[]) =>
        failures-- > 0
          ? Promise.reject(new Error('unreachable'))
          : postgres.database.query(text, values)) as typeof postgres.database.query,
    },
    log: createLog({ part: 'test', level: 'silent' }),
    signal: new AbortController().signal,
    metrics: {
      copied({ copied, ignored }) {
        seen.copied += copied;
        seen.ignored += ignored;
      },
      unreadable: () => seen.unreadable++,
    },
    onCopied: () => undefined,
  };
  await addRun(5);
});

async function addRun(id: number, state = 'planning', frozenAt: number | null = FROZEN_AT) {
  await postgres.database.query(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, frozen_at, planned)
     VALUES ($1, 3, 1, 'send', $2, now(), '{"channel":"sms"}', 1, $3, 9)`,
    [id, state, frozenAt === null ? null : new Date(frozenAt).toISOString()],
  );
}

function chunk(of: Partial<MessageChunk> = {}): MessageChunk {
  const { run_id = 5, chunk: number = 0 } = of;
  return {
    ...{ account_id: 1, campaign_id: 3, run_id, chunk: number, planned_at: FROZEN_AT },
    first_key: `key ${number}`,
    recipients: Array.from({ length: 9 }, (_, at) => ({
      ...{ key: `${number}.${at}`, person_id: `p${at}`, user_id: 'u', is_control: false },
    })),
    ...of,
  };
}

function records(chunks: readonly (MessageChunk | string)[], from = 0) {
  return chunks.map((one, at) => {
    const value = typeof one === 'string' ? Buffer.from(one) : messageChunkCodec.encode(one);
    const place = { topic: TOPIC.messagesPlanned, partition: PARTITION, offset: from + at };
    return { ...place, key: null, value, timestamp: 0, headers: [], size: value.length };
  });
}

async function stored(): Promise<string[]> {
  const { rows } = await postgres.database.query<{ run_id: number; chunk: number }>(
    'SELECT run_id::integer, chunk FROM message_chunks ORDER BY 1, 2',
  );
  return rows.map((row) => `${row.run_id}/${row.chunk}`);
}

describe('the task of a partition of messages.planned', () => {
  it('copies chunks as they are, with nobody opened or finished, and commits behind them', async () => {
    const task = await intakeTask(deps, PARTITION);
    expect(task.from).toBe(0);
    expect(await task.process(records([chunk(), chunk({ chunk: 1 })], 7))).toBe(9);
    const { rows } = await postgres.database.query<Record<string, unknown>>(
      `SELECT account_id::integer, campaign_id::integer, channel, record, recipients, first_key, opened, finished, retries, is_done, next_at <= now() AS is_due
       FROM message_chunks WHERE chunk = 1`,
    );
    expect(rows).toEqual([
      {
        ...{ account_id: 1, campaign_id: 3, channel: 'sms', recipients: 9, first_key: 'key 1' },
        record: new Uint8Array(messageChunkCodec.encode(chunk({ chunk: 1 }))),
        ...{ opened: new Uint8Array(2), finished: new Uint8Array(2), retries: [] },
        ...{ is_done: false, is_due: true },
      },
    ]);
  });

  it('keeps the first of a chunk that was written again, however far it was sent', async () => {
    const task = await intakeTask(deps, PARTITION);
    await task.process(records([chunk(), chunk()]));
    await postgres.database.query('UPDATE message_chunks SET is_done = true');
    await task.process(records([chunk()], 2));
    const { rows } = await postgres.database.query('SELECT is_done FROM message_chunks');
    expect(rows).toEqual([{ is_done: true }]);
    expect(seen).toEqual({ copied: 1, ignored: 2, unreadable: 0 });
  });

  it.each(['finished', 'cancelled', 'failed', 'missed', 'scheduled', 'confirm'])(
    'ignores the chunk of a run that is %s',
    async (state) => {
      await addRun(6, state);
      await (await intakeTask(deps, PARTITION)).process(records([chunk({ run_id: 6 })]));
      expect(await stored()).toEqual([]);
    },
  );

  it('ignores chunks of unknown runs, of other accounts, and of another freeze than the recorded one', async () => {
    await addRun(7, 'planning', null);
    const others = [
      chunk({ run_id: 99 }),
      chunk({ account_id: 2 }),
      chunk({ campaign_id: 4 }),
      chunk({ planned_at: FROZEN_AT - 1 }),
      chunk({ run_id: 7 }),
    ];
    const task = await intakeTask(deps, PARTITION);
    expect(await task.process(records(others))).toBe(5);
    expect(await stored()).toEqual([]);
    expect(seen).toEqual({ copied: 0, ignored: 5, unreadable: 0 });
  });

  it('skips a damaged record, and copies those around it', async () => {
    const task = await intakeTask(deps, PARTITION);
    await task.process(records([chunk(), 'damaged', chunk({ chunk: 1 })]));
    expect(await stored()).toEqual(['5/0', '5/1']);
    expect(seen.unreadable).toBe(1);
  });

  it('copies the others when PostgreSQL cannot store a chunk, and does not stop there', async () => {
    const task = await intakeTask(deps, PARTITION);
    const poison = chunk({ chunk: 1, first_key: 'a\0b' });
    expect(await task.process(records([chunk(), poison, chunk({ chunk: 2 })]))).toBe(3);
    expect(await stored()).toEqual(['5/0', '5/2']);
    expect(seen.unreadable).toBe(1);
    expect((await intakeTask(deps, PARTITION)).from).toBe(3);
  });

  it('takes the channel of the campaign when the run names none', async () => {
    await postgres.database.query(`UPDATE campaign_runs SET definition = '{}'`);
    await (await intakeTask(deps, PARTITION)).process(records([chunk()]));
    const { rows } = await postgres.database.query('SELECT channel FROM message_chunks');
    expect(rows).toEqual([{ channel: 'sms' }]);
  });

  it('goes on where PostgreSQL is, whatever Kafka has committed', async () => {
    await (await intakeTask(deps, PARTITION)).process(records([chunk()], 40));
    expect((await intakeTask(deps, PARTITION)).from).toBe(41);
    expect((await intakeTask(deps, PARTITION + 1)).from).toBe(0);
    await postgres.database.query('TRUNCATE message_positions, message_chunks');
    expect((await intakeTask(deps, PARTITION)).from).toBe(0);
  });

  it('reads again from where the log went back', async () => {
    await (await intakeTask(deps, PARTITION)).process(records([chunk()], 40));
    await postgres.database.query(
      `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason) VALUES ($1, $2, 3, 30, 'the log went back')`,
      [TOPIC.messagesPlanned, PARTITION],
    );
    const task = await intakeTask(deps, PARTITION);
    expect(task.from).toBe(30);
    await task.process(records([chunk({ chunk: 1 })], 30));
    expect((await intakeTask(deps, PARTITION)).from).toBe(31);
  });

  it('never sets the position back: a process that was suspended writes late', async () => {
    const suspended = await intakeTask(deps, PARTITION);
    await (await intakeTask(deps, PARTITION)).process(records([chunk()], 40));
    await suspended.process(records([chunk({ chunk: 1 })], 20));
    expect((await intakeTask(deps, PARTITION)).from).toBe(41);
    expect(await stored()).toEqual(['5/0', '5/1']);
  });

  it('copies nothing without its position, and tries again while PostgreSQL does not answer', async () => {
    const task = await intakeTask(deps, PARTITION);
    failures = 2;
    expect(await task.process(records([chunk()]))).toBe(1);
    expect(await stored()).toEqual(['5/0']);
  });
});

import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { emptyBits, withBits } from '../chunk/bits.ts';
import { readMessageBalance, waitingMessages } from './balance.ts';
import { finishRuns, planMissingChunks } from './finish-runs.ts';
import { messagesPage, openRuns } from './runs.ts';
import { sweepEndedRuns } from './sweep.ts';

const HOUR_MS = 3_600_000;

let postgres: MigratedDatabase;
const execute = async (text: string, values: unknown[] = []) =>
  (await postgres.database.query<Record<string, unknown>>(text, values)).rows;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await execute(
    'TRUNCATE message_chunks, campaign_run_counts, campaign_run_merged, message_totals, message_outbox, message_caps, campaigns, accounts CASCADE',
  );
  await execute(`INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')`);
});

interface RunFields {
  id: number;
  account?: number;
  campaign?: number;
  state?: string;
  planned?: number;
  isPlanned?: boolean;
  cancelled?: boolean;
  /** Finished recipients of each chunk of 4 in the queue. */
  chunks?: readonly number[];
  /** Chunks that were written; as many as are in the queue by default. */
  written?: number;
  /** Outcomes; those that the chunks have by default. */
  counted?: number;
}

/** A run, its chunks, and the counts that belong to them. */
async function addRun(of: RunFields): Promise<void> {
  const { id, account = 1, campaign = id, chunks = [], written = chunks.length } = of;
  const { planned = 4 * written, isPlanned = true, state = 'sending', cancelled = false } = of;
  const finished = chunks.reduce((sum, count) => sum + count, 0);
  const { counted = finished } = of;
  await execute(
    `INSERT INTO campaigns (id, account_id, name, channel, definition, status) VALUES ($1, $2, 'c', 'sms', '{}', 'sending') ON CONFLICT DO NOTHING`,
    [campaign, account],
  );
  await execute(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, frozen_at, planned, is_planned, chunks, last_key, cancelled, turn_at)
     VALUES ($1, $2, $3, 'send', $4, now(), '{}', 1, now(), $5, $6, $7, 'k', $8, now())`,
    [id, campaign, account, state, planned, isPlanned, written, cancelled],
  );
  for (const [chunk, count] of chunks.entries())
    await execute(
      `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished, is_done)
       VALUES ($1, $2, $3, $4, 'sms', '', 4, '', $5, $6, $7)`,
      [
        ...[id, chunk, account, campaign, emptyBits(4)],
        ...[withBits(emptyBits(4), { set: Array.from({ length: count }, (_, at) => at) })],
        count === 4,
      ],
    );
  if (counted > 0)
    await execute(
      `INSERT INTO campaign_run_counts (run_id, status, reason, messages) VALUES ($1, 'sent', '', $2)`,
      [id, counted],
    );
  for (const [status, messages] of [
    ['planned', planned],
    ['sent', counted],
  ])
    await execute(
      `INSERT INTO message_totals AS t (account_id, status, messages) VALUES ($1, $2, $3)
       ON CONFLICT (account_id, status) DO UPDATE SET messages = t.messages + excluded.messages`,
      [account, status, messages],
    );
}

const states = async () =>
  (
    await execute(
      'SELECT r.id::integer, r.state, c.status FROM campaign_runs r JOIN campaigns c ON c.id = r.campaign_id ORDER BY r.id',
    )
  ).map(({ id, state, status }) => [id, state, status]);

describe('a run', () => {
  it('has finished when everybody has an outcome, and its campaign is sent', async () => {
    await addRun({ id: 1, chunks: [4, 4] });
    await addRun({ id: 2, chunks: [4, 3] });
    const ended = await finishRuns(postgres.database);
    expect(ended).toEqual([{ id: 1, campaignId: 1, accountId: 1, state: 'finished' }]);
    expect(await states()).toEqual([
      [1, 'finished', 'sent'],
      [2, 'sending', 'sending'],
    ]);
    expect(await finishRuns(postgres.database)).toEqual([]);
  });

  it('goes on while chunks are still to be written, or are on their way to the queue', async () => {
    await addRun({ id: 1, chunks: [4], planned: 8, isPlanned: false, state: 'planning' });
    await addRun({ id: 2, chunks: [4], written: 2 });
    expect(await finishRuns(postgres.database)).toEqual([]);
  });

  it('goes on while a chunk is not done, whatever was counted', async () => {
    await addRun({ id: 1, chunks: [4, 3], counted: 9 });
    expect(await finishRuns(postgres.database)).toEqual([]);
  });

  it('ends as cancelled when everybody has an outcome after it was cancelled', async () => {
    await addRun({ id: 1, chunks: [4], cancelled: true });
    await execute(`UPDATE campaigns SET status = 'cancelled'`);
    await finishRuns(postgres.database);
    expect(await states()).toEqual([[1, 'cancelled', 'cancelled']]);
  });

  it('leaves its campaign sending while another run of it sends', async () => {
    await addRun({ id: 1, chunks: [4], campaign: 9 });
    await addRun({ id: 2, chunks: [1], campaign: 9 });
    await finishRuns(postgres.database);
    expect(await states()).toEqual([
      [1, 'finished', 'sending'],
      [2, 'sending', 'sending'],
    ]);
  });
});

describe('chunks that the log lost', () => {
  const asOld = () => execute(`UPDATE campaign_runs SET turn_at = now() - interval '2 hours'`);

  it('are written again by the planner, from the first one on', async () => {
    await addRun({ id: 1, chunks: [4], written: 2 });
    await addRun({ id: 2, chunks: [4, 1] });
    expect(await planMissingChunks(postgres.database, HOUR_MS)).toEqual([]);
    await asOld();
    expect(await planMissingChunks(postgres.database, HOUR_MS)).toEqual([1]);
    expect(
      await execute('SELECT state, is_planned, chunks, last_key FROM campaign_runs WHERE id = 1'),
    ).toEqual([{ state: 'planning', is_planned: false, chunks: 0, last_key: '' }]);
    expect(await planMissingChunks(postgres.database, HOUR_MS)).toEqual([]);
  });
});

describe('the balance of messages', () => {
  it('is planned = outcomes + in flight, for an account and for all', async () => {
    await addRun({ id: 1, chunks: [4, 1] });
    await addRun({ id: 2, chunks: [2], written: 1, planned: 40, isPlanned: false });
    await addRun({ id: 3, account: 2, chunks: [4] });
    await finishRuns(postgres.database);
    const none = { failed: 0, withheld: 0, skipped: 0 };
    expect(await readMessageBalance(postgres.database)).toEqual({
      totals: { planned: 52, sent: 11, ...none, in_flight: 41 },
      ...{ gap: 0, runs: [], accounts: [] },
    });
    expect((await readMessageBalance(postgres.database, 2)).totals).toEqual({
      ...{ planned: 4, sent: 4, ...none, in_flight: 0 },
    });
    const page = await messagesPage(postgres.database)['/messages']?.(
      new URLSearchParams({ account: '2' }),
    );
    expect(JSON.parse(page?.body ?? '')).toMatchObject({ totals: { planned: 4 } });
  });

  it('is empty before the first campaign', async () => {
    expect(await readMessageBalance(postgres.database)).toMatchObject({
      totals: { planned: 0, in_flight: 0 },
      gap: 0,
    });
  });

  it.each([
    [
      'an outcome was counted twice',
      `UPDATE campaign_run_counts SET messages = messages + 1`,
      { gap: 1, runs: [{ id: 1, gap: 1 }], accounts: [{ id: 1, gap: 1 }] },
    ],
    [
      'a finished recipient was not counted',
      `UPDATE message_chunks SET finished = '\\x0f' WHERE chunk = 1`,
      { gap: 0, runs: [{ id: 1, gap: 3 }], accounts: [] },
    ],
    [
      'the chunks of a run have fewer recipients than were planned',
      `UPDATE message_chunks SET recipients = 3 WHERE chunk = 1`,
      { gap: 0, runs: [{ id: 1, gap: 1 }], accounts: [] },
    ],
    [
      'the totals of the account lack outcomes',
      `UPDATE message_totals SET messages = messages - 2 WHERE status = 'sent'`,
      { gap: 2, runs: [], accounts: [{ id: 1, gap: 2 }] },
    ],
    [
      'a run of an account has vanished',
      `DELETE FROM campaign_runs`,
      { gap: 3, runs: [], accounts: [{ id: 1, gap: 3 }] },
    ],
  ])('has a gap when %s', async (_what, sql, expected) => {
    await addRun({ id: 1, chunks: [4, 1] });
    expect(await readMessageBalance(postgres.database)).toMatchObject({ gap: 0, runs: [] });
    await execute(sql);
    expect(await readMessageBalance(postgres.database)).toMatchObject(expected);
  });
});

describe('what waits', () => {
  it('counts chunks that may be sent, and rows of the outbox, with the age of the oldest', async () => {
    await addRun({ id: 1, chunks: [1, 2, 4, 0, 0] });
    await addRun({ id: 2, chunks: [0] });
    await execute('UPDATE campaign_runs SET paused = true WHERE id = 2');
    await execute(
      `UPDATE message_chunks SET leased_until = now() + interval '1 h' WHERE chunk = 3`,
    );
    await execute(`UPDATE message_chunks SET next_at = now() + interval '1 h' WHERE chunk = 4`);
    await execute(
      `UPDATE message_chunks SET created_at = now() - interval '2 h', next_at = now() - interval '90 s' WHERE chunk = 0`,
    );
    await execute(
      `INSERT INTO message_outbox (account_id, outcomes, created_at) VALUES (1, '', now() - interval '30 s'), (1, '', now())`,
    );
    const found = await waitingMessages(postgres.database);
    expect(found).toMatchObject({ due_chunks: 2, outbox_rows: 2 });
    expect(Math.floor(found.due_seconds / 10)).toBe(9);
    expect(Math.floor(found.outbox_seconds / 10)).toBe(3);
  });

  it('counts at most 100 chunks of a run, however many wait', async () => {
    await addRun({ id: 1, chunks: Array.from({ length: 120 }, () => 0) });
    await addRun({ id: 2, chunks: [0, 0] });
    expect(await waitingMessages(postgres.database)).toMatchObject({ due_chunks: 102 });
  });

  it('is nothing without runs', async () => {
    expect(await waitingMessages(postgres.database)).toEqual({
      ...{ due_chunks: 0, due_seconds: 0, outbox_rows: 0, outbox_seconds: 0 },
    });
  });
});

describe('the sweep', () => {
  it('removes what runs that ended a day ago needed, and what is of no run', async () => {
    for (const id of [1, 2, 3, 4]) await addRun({ id, chunks: [4, 4], state: 'finished' });
    await execute(`UPDATE campaign_runs SET state = 'sending' WHERE id = 1`);
    await execute(`UPDATE campaign_runs SET finished_at = now() WHERE id = 2`);
    await execute(`UPDATE campaign_runs SET finished_at = now() - interval '25 h' WHERE id = 3`);
    await execute('DELETE FROM campaign_runs WHERE id = 4');
    await execute(
      `INSERT INTO campaign_run_merged (run_id, person, sends_as) SELECT n, 'p', 'q' FROM generate_series(1, 4) n`,
    );
    await sweepEndedRuns(postgres.database, new AbortController().signal);
    for (const table of ['message_chunks', 'campaign_run_merged'])
      expect(await execute(`SELECT DISTINCT run_id::integer FROM ${table} ORDER BY 1`)).toEqual([
        { run_id: 1 },
        { run_id: 2 },
      ]);
  });
});

describe('the runs of a process', () => {
  it('ends runs, shows the balance as metrics, and removes reservations that are over', async () => {
    await addRun({ id: 1, chunks: [4] });
    await addRun({ id: 2, chunks: [2] });
    await execute(`UPDATE message_totals SET messages = messages + 3 WHERE status = 'planned'`);
    await execute(
      `INSERT INTO message_caps (account_id, channel, person, reserved, expires_at) VALUES (1, 'sms', 'p', '{}', now() - interval '1 s')`,
    );
    const registry = new Registry();
    const log = createLog({ part: 'test', level: 'silent' });
    const runs = openRuns({ database: postgres.database, log, registry, idleMs: 100 });
    runs.start();
    await vi.waitFor(async () => {
      const text = await registry.metrics();
      expect(text).toContain('ravand_dispatcher_runs_total{outcome="finished"} 1');
      expect(text).toContain('ravand_message_balance_gap{scope="overall"} 3');
      expect(text).toContain('ravand_message_balance_gap{scope="account"} 3');
      expect(text).toContain('ravand_message_balance_gap{scope="run"} 0');
      expect(text).toContain('ravand_campaign_messages{status="in_flight"} 2');
      expect(await execute('SELECT 1 FROM message_caps')).toEqual([]);
    }, 10_000);
    await runs.stop();
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { campaignMessageId } from '../../../events/messages/message-id.ts';
import { emptyBits, withBits } from '../../../pipeline/dispatcher/chunk/bits.ts';
import { readMessageBalance } from '../../../pipeline/dispatcher/runs/balance.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { MessageChunk } from '../../../schemas/records.ts';
import type { Connections } from '../../jobs/connections.ts';
import { holdCampaigns } from './hold-campaigns.ts';
import { takeKnownOutcomes, type KnownOutcome } from './known-outcomes.ts';

const NEVER = new AbortController().signal;

let postgres: MigratedDatabase;
const execute = async (text: string, values: unknown[] = []) =>
  (await postgres.database.query<Record<string, unknown>>(text, values)).rows;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await execute(
    'TRUNCATE message_chunks, campaign_run_counts, message_totals, message_meters, message_outbox, campaigns, accounts CASCADE',
  );
  await execute(`INSERT INTO accounts (id, name) VALUES (1, 'a')`);
});

async function addRun(id: number, of: { state?: string; due?: string; cancelled?: boolean } = {}) {
  const { state = 'sending', due = `now() - interval '1 hour'`, cancelled = false } = of;
  await execute(
    `INSERT INTO campaigns (id, account_id, name, channel, definition, status) VALUES ($1, 1, 'c', 'sms', '{}', $2)`,
    [id, state === 'scheduled' ? 'scheduled' : 'sending'],
  );
  await execute(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, frozen_at, is_planned, planned, chunks, cancelled)
     VALUES ($1, $1, 1, 'send', $2, ${due}, '{}', 1, now(), true, 4, 1, $3)`,
    [id, state, cancelled],
  );
}

const key = (at: number) => String(at).padStart(32, '0');

describe('campaigns, after PostgreSQL went back', () => {
  const connections = {
    get database() {
      return postgres.database as Database;
    },
    clickhouse: {
      query: () => Promise.resolve({ json: () => Promise.resolve([{ run: '5000' }]) }),
    } as unknown as Connections['clickhouse'],
  };

  it('are paused when they may have sent since then, and new runs have other ids', async () => {
    await addRun(1);
    await addRun(2, { state: 'scheduled' });
    await addRun(3, { state: 'scheduled', due: `now() + interval '1 day'` });
    await addRun(4, { state: 'finished' });
    await addRun(5, { cancelled: true });
    await execute(`UPDATE campaigns SET status = 'sent' WHERE id = 4`);
    await execute(`UPDATE campaigns SET status = 'cancelled' WHERE id = 5`);
    await execute(
      `INSERT INTO campaigns (id, account_id, name, channel, definition, status, next_at) VALUES (6, 1, 'c', 'sms', '{}', 'scheduled', now() - interval '1 hour')`,
    );
    const held = { runs: 2, campaigns: 3 };
    expect(await holdCampaigns(connections, { dryRun: true })).toEqual(held);
    expect(await holdCampaigns(connections, { dryRun: false })).toEqual(held);
    expect(await execute('SELECT id::integer FROM campaign_runs WHERE paused ORDER BY 1')).toEqual([
      { id: 1 },
      { id: 2 },
    ]);
    expect(
      await execute(`SELECT id::integer FROM campaigns WHERE status = 'paused' ORDER BY 1`),
    ).toEqual([{ id: 1 }, { id: 2 }, { id: 6 }]);
    expect(await execute(`SELECT nextval('campaign_runs_id_seq')::integer AS id`)).toEqual([
      { id: 5001 },
    ]);
    expect(await holdCampaigns(connections, { dryRun: false })).toEqual({ runs: 0, campaigns: 0 });
  });

  it('send nothing again to those whose outcomes are known', async () => {
    await addRun(7);
    const chunk: MessageChunk = {
      ...{ account_id: 1, campaign_id: 7, run_id: 7, chunk: 0, planned_at: 5, first_key: key(0) },
      recipients: [0, 1, 2, 3].map((at) => ({
        ...{ key: key(at), person_id: `p${at}`, user_id: `u${at}`, is_control: false },
      })),
    };
    const bits = (...set: number[]) => withBits(emptyBits(4), { set });
    await execute(
      `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished, retries, leased_by, leased_until)
       VALUES (7, 0, 1, 7, 'sms', $1, 4, $2, $3, $3, $4, 'dead', now() + interval '1 hour')`,
      [
        ...[messageChunkCodec.encode(chunk), key(0), bits(0)],
        JSON.stringify([{ index: 1, attempts: 2, at: 9 }]),
      ],
    );
    await execute(`INSERT INTO campaign_run_counts VALUES (7, 'sent', '', 1)`);
    await execute(`INSERT INTO message_totals VALUES (1, 'planned', 4), (1, 'sent', 1)`);
    const finished_at = Date.UTC(2026, 10, 23);
    const known = [0, 1, 2].map((at): KnownOutcome => {
      const message_id = campaignMessageId({ campaignId: 7, runId: 7, key: key(at) });
      const isSent = at < 2;
      return {
        ...{ message_id, finished_at, status: isSent ? 'sent' : 'failed' },
        reason: isSent ? '' : 'dead_address',
      };
    });
    const find = () => Promise.resolve(known);
    const deps = { database: postgres.database, find };
    expect(await takeKnownOutcomes(deps, NEVER)).toBe(2);
    const [row] = await execute(
      'SELECT finished, retries, is_done, leased_by FROM message_chunks WHERE run_id = 7',
    );
    expect(row).toEqual({
      ...{ finished: new Uint8Array(bits(0, 1, 2)), retries: [], is_done: false, leased_by: null },
    });
    expect(
      await execute(
        'SELECT status, reason, messages::integer FROM campaign_run_counts ORDER BY 1, 2',
      ),
    ).toEqual([
      { status: 'failed', reason: 'dead_address', messages: 1 },
      { status: 'sent', reason: '', messages: 2 },
    ]);
    expect(await execute('SELECT month, messages::integer FROM message_meters')).toEqual([
      { month: '1405-09', messages: 1 },
    ]);
    expect(await readMessageBalance(postgres.database)).toMatchObject({
      totals: { planned: 4, sent: 2, failed: 1, in_flight: 1 },
      ...{ gap: 0, runs: [], accounts: [] },
    });
    expect(await execute('SELECT 1 FROM message_outbox')).toEqual([]);
    expect(await takeKnownOutcomes(deps, NEVER)).toBe(0);
  });
});

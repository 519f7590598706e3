import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import { writerHold } from '../../../ingest/writer-hold.ts';
import { frameOutcomes } from '../../../messaging/outcomes/outcome-frames.ts';
import {
  connectChunks,
  type ChunkPublisher,
} from '../../../pipeline/planner/chunks/publish-chunks.ts';
import { createLog } from '../../../platform/log.ts';
import { messageOutcomeCodec } from '../../../schemas/codec.ts';
import type { MessageChunk, MessageOutcome } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { stackKafka } from '../../support/read-topic.ts';
import { createAccount, eventually, killService, ravand, rows } from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';

const CHUNKS = 20;
const RECIPIENTS = 100;
const ROWS = 40;
const OUTCOMES = 100;

const postgres = openPostgres();
const clickhouse = openClickhouse();
const name = randomBytes(4).toString('hex');
const frozenAt = Date.now();
let account: number;
let campaign: number;
let publisher: ChunkPublisher;

async function query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await postgres.query<Row>(text, values)).rows;
}

beforeAll(async () => {
  account = (await createAccount('queues of messages')).accountId;
  const [added] = await query<{ id: string }>(
    `INSERT INTO campaigns (account_id, name, channel, definition, status) VALUES ($1, 'queues', 'email', '{}', 'sending') RETURNING id`,
    [account],
  );
  campaign = Number(added?.id);
  const log = createLog({ part: 'test', level: 'error' });
  publisher = await connectChunks({
    ...{ settings: stackKafka(), topic: TOPIC.messagesPlanned, clientId: 'test' },
    ...{ log, signal: new AbortController().signal },
    hold: writerHold({ database: postgres, log, service: 'test' }),
    written: () => undefined,
  });
}, 60_000);
afterAll(() => publisher.close(1000));

/** A run that was cancelled when its chunks were written: its recipients need no sender. */
async function addRun(): Promise<number> {
  const planned = CHUNKS * RECIPIENTS;
  const [added] = await query<{ id: string }>(
    `WITH run AS (
       INSERT INTO campaign_runs (campaign_id, account_id, cause, state, cancelled, due_at, definition, version, frozen_at, planned, is_planned, chunks)
       VALUES ($1, $2, 'send', 'sending', true, now(), $3, 1, $4, $5, true, $6) RETURNING id
     ), total AS (INSERT INTO message_totals (account_id, status, messages) VALUES ($2, 'planned', $5))
     SELECT id FROM run`,
    [
      ...[campaign, account],
      JSON.stringify({
        channel: 'email',
        template_id: 1,
        template_version: 1,
        category: 'service',
      }),
      ...[new Date(frozenAt).toISOString(), planned, CHUNKS],
    ],
  );
  return Number(added?.id);
}

function chunkOf(runId: number, chunk: number, more: Partial<MessageChunk> = {}): MessageChunk {
  const recipients = Array.from({ length: RECIPIENTS }, (_, at) => {
    const person = `${name} ${chunk}.${at}`;
    return { key: personKey(person), person_id: person, user_id: person, is_control: false };
  }).sort((a, b) => (a.key < b.key ? -1 : 1));
  return {
    ...{ account_id: account, campaign_id: campaign, run_id: runId, chunk, recipients },
    ...{ planned_at: frozenAt, first_key: recipients[0]?.key ?? '', ...more },
  };
}

describe('the queues of messages on real servers', () => {
  it('every recipient of chunks that are there twice has one outcome, also when the dispatcher is killed', async () => {
    const run = await addRun();
    const chunks = Array.from({ length: CHUNKS }, (_, at) => chunkOf(run, at));
    const strangers = [
      chunkOf(run, 3, { planned_at: frozenAt - 1 }),
      chunkOf(run + 1_000_000, 0),
      chunkOf(run, 900, { account_id: account + 1_000_000 }),
    ];
    await Promise.all(strangers.map((one) => publisher.publish(one)));
    await Promise.all(chunks.map((one) => publisher.publish(one)));
    await killService('dispatcher');
    await Promise.all(chunks.map((one) => publisher.publish(one)));
    await eventually({ ms: 60_000, waitingFor: 'the end of the run' }, async () => {
      const [found] = await query<{ state: string }>(
        'SELECT state FROM campaign_runs WHERE id = $1',
        [run],
      );
      return found?.state === 'cancelled' ? true : undefined;
    });
    expect(
      await query(
        'SELECT status, reason, messages::integer FROM campaign_run_counts WHERE run_id = $1',
        [run],
      ),
    ).toEqual([{ status: 'skipped', reason: 'cancelled', messages: CHUNKS * RECIPIENTS }]);
    expect(
      await query('SELECT count(*)::integer AS chunks FROM message_chunks WHERE run_id = $1', [
        run,
      ]),
    ).toEqual([{ chunks: CHUNKS }]);
    await eventually({ ms: 60_000, waitingFor: 'the outcomes in ClickHouse' }, async () => {
      const [found] = await rows<{ n: number; ids: number }>(
        clickhouse,
        `SELECT count() AS n, uniqExact(message_id) AS ids FROM messages FINAL WHERE account_id = {a:UInt64} AND run_id = {r:UInt64} AND status = 'skipped'`,
        { a: account, r: run },
      );
      return Number(found?.n) === CHUNKS * RECIPIENTS && found?.ids === found?.n ? true : undefined;
    });
  }, 120_000);

  it('outcomes become one row of messages and one event each, though they are written twice', async () => {
    const outcomeOf = (person: string): MessageOutcome => ({
      ...{ account_id: account, campaign_id: campaign, run_id: 0, template_id: 7 },
      message_id: campaignMessageId({ campaignId: campaign, runId: 1, key: personKey(person) }),
      ...{ template_version: 2, channel: 'email', category: 'marketing', person_id: person },
      ...{ user_id: person, address_hash: '', status: 'sent', reason: '', provider: 'smtp' },
      ...{ provider_message_id: 'x', planned_at: frozenAt, finished_at: frozenAt, attempts: 1 },
    });
    const frames = Array.from({ length: ROWS }, (_, row) =>
      frameOutcomes(
        Array.from({ length: OUTCOMES }, (_, at) =>
          messageOutcomeCodec.encode(outcomeOf(`${name} sent ${row}.${at}`)),
        ),
      ),
    );
    const add = () =>
      query(
        'INSERT INTO message_outbox (account_id, outcomes) SELECT $1, o FROM unnest($2::bytea[]) o',
        [account, frames],
      );
    await add();
    await killService('dispatcher');
    await add();
    await eventually({ ms: 60_000, waitingFor: 'an empty outbox' }, async () => {
      const left = await query('SELECT 1 FROM message_outbox WHERE account_id = $1', [account]);
      return left.length === 0 ? true : undefined;
    });
    const counted = (sql: string) =>
      eventually({ ms: 60_000, waitingFor: sql }, async () => {
        const [found] = await rows<{ n: number }>(clickhouse, sql, { a: account });
        return Number(found?.n) >= ROWS * OUTCOMES ? Number(found?.n) : undefined;
      });
    const where = `WHERE account_id = {a:UInt64} AND`;
    expect(await counted(`SELECT count() AS n FROM messages FINAL ${where} status = 'sent'`)).toBe(
      ROWS * OUTCOMES,
    );
    const events = `${where} event = 'message_sent' AND source = 'platform'`;
    expect(await counted(`SELECT count() AS n FROM events ${events}`)).toBe(ROWS * OUTCOMES);
    expect(
      await counted(
        `SELECT uniqExact(source_message_id) AS n FROM events ${events} AND campaign_id = ${campaign}`,
      ),
    ).toBe(ROWS * OUTCOMES);
  }, 120_000);

  it('status shows the balance, and no gap', async () => {
    const text = await ravand('status', '--json', '--account', String(account));
    const planned = CHUNKS * RECIPIENTS;
    expect(JSON.parse(text)).toMatchObject({
      messages: { planned, sent: 0, failed: 0, withheld: 0, skipped: planned, in_flight: 0 },
    });
    const lines = (await ravand('status', '--account', String(account))).split('\n');
    expect(lines.filter((line) => line.startsWith('! '))).toEqual([]);
    expect(lines.some((line) => line.startsWith('messages of campaigns: planned 2,000'))).toBe(
      true,
    );
  });
});

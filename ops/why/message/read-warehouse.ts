import type { ClickHouseClient } from '@clickhouse/client';
import { mergesOf, peopleSql, type Merges } from '../../../audiences/people-sql.ts';
import {
  compilePeople,
  type PeopleRow,
} from '../../../account-api/campaigns/stats/compile-people.ts';
import type { StatsRun } from '../../../account-api/campaigns/stats/runs.ts';
import { KEPT_EVENTS } from '../../../platform/clickhouse/kept-events.ts';
import { KEPT_MESSAGES } from '../../../platform/clickhouse/kept-messages.ts';
import { SqlParams, type CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';
import type { Conversion, FrozenRecipient, MessageEvent } from './facts.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

type Client = Pick<ClickHouseClient, 'query'>;

/** A query ends after so long, s. */
const MAX_QUERY_SECONDS = 10;
const MAX_EVENTS = 50;
/** Clocks of servers differ at most so much, ms. */
const CLOCK_SKEW_MS = 3_600_000;

/** A person of the audience as the run found it; by the primary key. */
export async function readFrozen(
  client: Client,
  of: { accountId: number; runId: number; attempt: number; key: string },
): Promise<FrozenRecipient | undefined> {
  const params = new SqlParams();
  const sql = `SELECT person_id AS personId, user_id AS userId, is_control AS isControl FROM campaign_recipients
    WHERE account_id = ${params.whole(of.accountId)} AND run_id = ${params.whole(of.runId)} AND attempt = ${params.whole(of.attempt)} AND key = ${params.text(of.key)} LIMIT 1`;
  const [row] = await ask<FrozenRecipient>(client, { sql, params: params.values() });
  return row;
}

interface MessageKey {
  accountId: number;
  /** 0: of no campaign. */
  campaignId: number;
  runId: number;
  messageId: string;
}

/** By the primary key. */
export async function readStored(
  client: Client,
  key: MessageKey,
): Promise<MessageOutcome | undefined> {
  const params = new SqlParams();
  const sql = `SELECT account_id, message_id, campaign_id, run_id, template_id, template_version, channel, category, person_id, user_id, address_hash, status, reason,
      provider, provider_message_id, toUnixTimestamp64Milli(planned_at) AS planned_at, toUnixTimestamp64Milli(finished_at) AS finished_at, attempts
    FROM messages FINAL WHERE ${ofMessage(key, params)} LIMIT 1`;
  const [row] = await ask<MessageOutcome>(client, { sql, params: params.values() });
  return row;
}

function ofMessage({ accountId, campaignId, runId, messageId }: MessageKey, params: SqlParams) {
  return `account_id = ${params.whole(accountId)} AND campaign_id = ${params.whole(campaignId)} AND run_id = ${params.whole(runId)} AND message_id = ${params.text(messageId)} AND ${KEPT_MESSAGES}`;
}

/**
 * Events about the message, the oldest first: those of the platform by their person, clicks by the
 * id of the message.
 */
export async function readEvents(
  client: Client,
  of: { accountId: number; messageId: string; distinctIds: readonly string[]; from: number },
): Promise<MessageEvent[]> {
  const params = new SqlParams();
  const people = params.bind('Array(String)', [...of.distinctIds]);
  const sql = `SELECT event, message_id AS messageId, source, is_bot AS isBot, toUnixTimestamp64Milli(timestamp) AS timestamp FROM events
    WHERE account_id = ${params.whole(of.accountId)} AND event IN ('message_sent', 'message_failed', 'message_withheld', 'message_opened', 'message_clicked') AND ${KEPT_EVENTS}
      AND (event = 'message_clicked' OR (source = 'platform' AND _person IN (SELECT sipHash64(arrayJoin(${people})))))
      AND timestamp >= ${params.instant(Math.max(0, of.from - CLOCK_SKEW_MS))} AND source_message_id = ${params.text(of.messageId)}
    ORDER BY timestamp LIMIT 1 BY message_id LIMIT ${MAX_EVENTS}`;
  return ask<MessageEvent>(client, { sql, params: params.values() });
}

/** Hashes of people are divided by it: one remainder is one person, but for one in 10^9. */
const PARTS = Number.MAX_SAFE_INTEGER;

/**
 * What the campaign's stats say of this person alone: the same statement, over one part of the
 * people that has nobody else. Undefined: the message is not stored.
 */
export async function readConversion(
  whole: ClickHouseClient,
  { key, runs, now }: { key: MessageKey; runs: readonly StatsRun[]; now: number },
): Promise<Conversion | undefined> {
  const { accountId, campaignId } = key;
  const client = onAccount(whole, accountId);
  const signal = AbortSignal.timeout(MAX_QUERY_SECONDS * 1000);
  const merges = await mergesOf(client)(accountId, signal);
  const [found] = await ask<{ at: number }>(client, partQuery(key, merges));
  if (!found) return undefined;
  const part = { at: found.at, of: PARTS };
  const query = compilePeople({ accountId, campaignId, runs, merges, now, part });
  const [row] = await ask<PeopleRow>(client, query);
  return row && { converted: row.converted > 0, revenue: row.revenue };
}

function partQuery(key: MessageKey, merges: Merges): CompiledQuery {
  const params = new SqlParams();
  const { accountId } = key;
  const { source, person } = peopleSql({ table: 'messages', merges, accountId, params });
  const sql = `SELECT ${person} % ${params.whole(PARTS)} AS at FROM ${source} WHERE ${ofMessage(key, params)} LIMIT 1`;
  return { sql, params: params.values() };
}

async function ask<Row>(client: Client, { sql, params }: CompiledQuery): Promise<Row[]> {
  const answer = await client.query({
    ...{ query: sql, query_params: params, format: 'JSONEachRow' },
    use_multipart_params_auto: true,
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 0,
      max_execution_time: MAX_QUERY_SECONDS,
    },
  });
  return await answer.json<Row>();
}

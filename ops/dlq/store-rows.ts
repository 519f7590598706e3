import type { ClickHouseClient } from '@clickhouse/client';
import { decodeRecord } from '../../projections/events/decode.ts';
import { partitionPositionKey } from '../../schemas/log-position.ts';
import { splitRows, type EncodedRow } from '../../projections/events/decode.ts';
import { clickhouseEventsTable, type EventsTable } from '../../projections/events/events-table.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { eventRowCodec } from '../../schemas/codec.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** A raw record and the key of its rows in ClickHouse; `receivedAt` in ms since the epoch. */
export interface RawRecordPosition {
  accountId: number;
  receivedAt: number;
  epoch: number;
  partition: number;
  offset: number;
}

export type StoreOutcome =
  | { readonly kind: 'stored'; readonly rows: number }
  | { readonly kind: 'unready'; readonly why: string }
  /** ClickHouse did not answer clearly: nothing is known, try again. */
  | { readonly kind: 'uncertain'; readonly why: string };

export function eventsTableOf(client: ClickHouseClient, cluster: string): EventsTable {
  return clickhouseEventsTable({ client, cluster });
}

/** Items of a raw record whose rows are stored under its place. */
export async function storedItems(
  client: ClickHouseClient,
  place: RawRecordPosition,
): Promise<number[]> {
  const answer = await client.query({
    query: `SELECT _index FROM events WHERE account_id = {account:UInt64} AND received_at = fromUnixTimestamp64Milli({received:Int64})
      AND _epoch = {epoch:UInt16} AND _partition = {partition:UInt16} AND _offset = {offset:UInt64}`,
    query_params: {
      account: place.accountId,
      received: place.receivedAt,
      epoch: place.epoch,
      partition: place.partition,
      offset: place.offset,
    },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: 20 },
  });
  return (await answer.json<[number]>()).map(([index]) => index);
}

/**
 * The rows of a letter of the sink, each under its place; a sentence when this version cannot read
 * them.
 */
export function rowsOfDeadLetter(
  letter: DeadLetter,
  bytes: Buffer,
): { rows: EncodedRow[]; partition: number } | string {
  const { topic, partition, offset, key } = letter;
  const { rowBatch, failure } = decodeRecord({
    topic,
    partition,
    offset,
    key,
    timestamp: letter.appended_at,
    value: bytes,
    size: bytes.length,
  });
  const again = `the missing rows are made again from events.raw: ./ravand replay --topic events.raw around ${new Date(letter.appended_at).toISOString()}`;
  if (failure) return `${failure.detail}; ${again}`;
  const rows = splitRows(rowBatch.rows, rowBatch.count);
  return rows
    ? { rows, partition: rowBatch.head.partition }
    : `the rows of the run cannot be read; ${again}`;
}

/**
 * Stores the rows of a letter of the sink under the places that they have: no new event enters the
 * log, and the profiles and the catalogue, which took these rows when ClickHouse refused them for
 * `events`, take nothing twice. What is stored already is left out, so doing it again changes
 * nothing.
 */
export async function storeDeadLetterRows(
  eventsTable: EventsTable,
  { letter, rows, partition }: { letter: string; rows: readonly EncodedRow[]; partition: number },
): Promise<StoreOutcome> {
  const { keys } = await eventsTable.stored(partition, rows);
  const missing = rows.filter(({ position }) => !keys.has(partitionPositionKey(position)));
  if (missing.length === 0) return { kind: 'stored', rows: 0 };
  const token = `redrive-${letter}-${missing.length}`;
  const insert = {
    token,
    queryId: `${token}:${Date.now()}`,
    count: missing.length,
    datums: missing.map(({ datum }) => datum),
  };
  const outcome = await eventsTable.insert(insert, AbortSignal.timeout(70_000));
  switch (outcome.kind) {
    case 'stored':
      return { kind: 'stored', rows: missing.length };
    case 'refused':
      return {
        kind: 'unready',
        why: `ClickHouse still refuses it (${outcome.code}): ${outcome.detail.slice(0, 300)}`,
      };
    case 'unsent':
    case 'uncertain':
      return {
        kind: 'uncertain',
        why: `ClickHouse did not store it: ${outcome.error.message.slice(0, 300)}`,
      };
  }
}

const MINUTE = 60_000;

/**
 * Says that the rows of a letter of the sink are stored, and takes them off the dead of the books
 * in the same statement, so that a crash does both or neither. The meter of accepted events left
 * them out while they were dead and takes them in now. Answers false when another attempt has the
 * letter.
 * @param month name of the Jalali month of an instant (ingest 8)
 */
export async function markRowsStored(
  database: Database,
  options: {
    letter: string;
    attempt: string;
    counted: boolean;
    rows: readonly EncodedRow[];
    month: (at: number) => string;
  },
): Promise<boolean> {
  const { letter, attempt, counted } = options;
  const rows = counted
    ? options.rows.map(
        ({ datum }) =>
          eventRowCodec.type.fromBuffer(datum) as { account_id: number; received_at: number },
      )
    : [];
  const answer = await database.query<{ done: number }>(
    `WITH done AS (
       UPDATE dead_letters SET state = 'redriven', redriven_to = NULL, changed_at = now() WHERE letter = $1 AND state = 'redriving' AND attempt = $2 RETURNING 1
     ), revived AS (
       SELECT account_id, minute, month, count(*) AS events FROM unnest($3::bigint[], $4::timestamptz[], $5::text[]) AS r (account_id, minute, month)
       WHERE EXISTS (SELECT 1 FROM done) GROUP BY account_id, minute, month
     ), booked AS (
       INSERT INTO books (account_id, minute, dead) SELECT account_id, minute, -events FROM revived
       ON CONFLICT (account_id, minute) DO UPDATE SET dead = books.dead + excluded.dead, open = true, changed_at = now()
     ), metered AS (
       INSERT INTO meters (account_id, meter, month, value) SELECT account_id, 'events', month, sum(events) FROM revived GROUP BY account_id, month
       ON CONFLICT (account_id, meter, month) DO UPDATE SET value = meters.value + excluded.value, updated_at = now()
     )
     SELECT count(*)::int AS done FROM done`,
    [
      letter,
      attempt,
      rows.map((row) => row.account_id),
      rows.map((row) => new Date(Math.floor(row.received_at / MINUTE) * MINUTE)),
      rows.map((row) => options.month(row.received_at)),
    ],
  );
  return answer.rows[0]?.done === 1;
}

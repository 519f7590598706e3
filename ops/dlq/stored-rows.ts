import type { ClickHouseClient } from '@clickhouse/client';
import { decodeRecord } from '../../projections/events/decode.ts';
import { partitionPositionKey } from '../../schemas/log-position.ts';
import { splitRows, type EncodedRow } from '../../projections/events/decode.ts';
import { clickhouseEventsTable, type EventsTable } from '../../projections/events/events-table.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import type { RawPlace } from './redrive.ts';

export type StoredLetter =
  | { readonly kind: 'stored'; readonly rows: number }
  | { readonly kind: 'unready'; readonly why: string }
  /** ClickHouse did not answer clearly: nothing is known, try again. */
  | { readonly kind: 'uncertain'; readonly why: string };

export function eventsTableOf(client: ClickHouseClient, cluster: string): EventsTable {
  return clickhouseEventsTable({ client, cluster });
}

/** Items of a raw record whose rows are stored under its place. */
export async function storedItems(client: ClickHouseClient, place: RawPlace): Promise<number[]> {
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
export function rowsOfLetter(
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
export async function storeLetter(
  eventsTable: EventsTable,
  { letter, rows, partition }: { letter: string; rows: readonly EncodedRow[]; partition: number },
): Promise<StoredLetter> {
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

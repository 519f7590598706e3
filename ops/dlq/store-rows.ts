import { hash } from 'node:crypto';
import { quotaMonth } from '../../events/tehran-time.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { hasUnknownSchema } from '../../schemas/codec.ts';
import { decodeRecord, splitRows, type EncodedRow } from '../../projections/events/decode.ts';
import type { EventsTable } from '../../projections/events/events-table.ts';
import { partitionPositionKey } from '../../schemas/log-position.ts';
import type { DeadLetter } from '../../schemas/records.ts';

export type StoreOutcome =
  | { readonly kind: 'stored'; readonly rows: number }
  | { readonly kind: 'unready'; readonly why: string }
  /** ClickHouse did not confirm or refuse the insert. */
  | { readonly kind: 'uncertain'; readonly why: string };

/** The rows of a dead letter of the sink; a sentence when this version cannot decode them. */
export function rowsOfDeadLetter(
  deadLetter: DeadLetter,
  bytes: Buffer,
): { rows: EncodedRow[]; version: number; partition: number } | string {
  const { topic, partition, offset, key } = deadLetter;
  if (hasUnknownSchema(bytes)) return 'a newer release wrote its rows: run that one, then redrive';
  const { rowBatch, failure } = decodeRecord({
    topic,
    partition,
    offset,
    key,
    timestamp: deadLetter.appended_at,
    value: bytes,
    size: bytes.length,
  });
  const remedy = `./ravand replay --topic events.raw adds the missing rows, from ${new Date(deadLetter.appended_at).toISOString()}`;
  if (failure) return `${failure.detail}; ${remedy}`;
  const rows = splitRows(rowBatch);
  return rows
    ? { rows, version: rowBatch.version, partition: rowBatch.head.partition }
    : `the rows of the batch cannot be decoded; ${remedy}`;
}

/**
 * Stores the rows of dead letters of the sink at their positions, in one insert: nothing is
 * published again, and the profiles and the catalogue, which have processed these rows, do not
 * process them twice. Idempotent: leaves out what is stored.
 */
export async function storeDeadLetterRows(
  eventsTable: EventsTable,
  {
    keys: deadLetters,
    rows,
    version,
    partition,
  }: { keys: readonly string[]; rows: readonly EncodedRow[]; version: number; partition: number },
): Promise<StoreOutcome> {
  const { keys } = await eventsTable.stored(partition, rows);
  const missing = rows.filter(({ position }) => !keys.has(partitionPositionKey(position)));
  if (missing.length === 0) return { kind: 'stored', rows: 0 };
  const what = hash('sha256', deadLetters.join('\n'), 'hex').slice(0, 32);
  const token = `redrive-${what}-${missing.length}`;
  const insert = {
    token,
    queryId: `${token}:${Date.now()}`,
    version,
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
        why: `ClickHouse still refuses the rows (${outcome.code}): ${outcome.detail.slice(0, 300)}`,
      };
    case 'unsent':
    case 'uncertain':
      return {
        kind: 'uncertain',
        why: `ClickHouse did not store the rows: ${outcome.error.message.slice(0, 300)}`,
      };
  }
}

const MINUTE = 60_000;

/**
 * Marks dead letters of the sink as redriven. The same statement subtracts their rows in `counted`
 * from the dead rows of the reconciliation and adds them to the meter of accepted events, which
 * left them out (ingest 8): a crash does all or nothing. Resolves with the keys of those that no
 * other attempt owns.
 */
export async function markRowsStored(
  database: Database,
  {
    stored,
    attempt,
  }: { stored: readonly { key: string; counted: readonly EncodedRow[] }[]; attempt: string },
): Promise<Set<string>> {
  const counted = stored.flatMap(({ key, counted }) => counted.map((row) => ({ key, row })));
  const answer = await database.query<{ letter: string }>(
    `WITH done AS (
       UPDATE dead_letters SET state = 'redriven', redriven_to = NULL, changed_at = now() WHERE letter = ANY($1::text[]) AND state = 'redriving' AND attempt = $2 RETURNING letter
     ), revived AS (
       SELECT account_id, minute, month, count(*) AS events FROM unnest($3::text[], $4::bigint[], $5::timestamptz[], $6::text[]) AS r (letter, account_id, minute, month)
       JOIN done USING (letter) GROUP BY account_id, minute, month
     ), booked AS (
       INSERT INTO books (account_id, minute, dead) SELECT account_id, minute, -sum(events) FROM revived GROUP BY account_id, minute
       ON CONFLICT (account_id, minute) DO UPDATE SET dead = books.dead + excluded.dead, open = true, changed_at = now()
     ), metered AS (
       INSERT INTO meters (account_id, meter, month, value) SELECT account_id, 'events', month, sum(events) FROM revived GROUP BY account_id, month
       ON CONFLICT (account_id, meter, month) DO UPDATE SET value = meters.value + excluded.value, updated_at = now()
     )
     SELECT letter FROM done`,
    [
      stored.map(({ key }) => key),
      attempt,
      counted.map(({ key }) => key),
      counted.map(({ row }) => row.account_id),
      counted.map(({ row }) => new Date(Math.floor(row.received_at / MINUTE) * MINUTE)),
      counted.map(({ row }) => quotaMonth(row.received_at).key),
    ],
  );
  return new Set(answer.rows.map(({ letter }) => letter));
}

import { TOPIC } from '../../schemas/topology.ts';
import { quotaMonth } from '../../events/tehran-time.ts';
import { deadLetterKey, keyOfIndexKey } from '../../pipeline/dead-letters/dead-letter.ts';
import { eventOffsetKey } from '../../schemas/log-position.ts';
import { RangeReader, readRange } from '../../platform/kafka/read-range.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { indexDeadLetters } from '../dlq/dead-letter-index.ts';
import { failedBytes } from '../dlq/read-dead-letter.ts';
import { rowsOfDeadLetter } from '../dlq/store-rows.ts';
import type { Connections } from '../jobs/connections.ts';
import { decodeDeadLetter } from '../dlq/read-dead-letter.ts';
import type { SourceEvent } from './source.ts';

/**
 * Keys of the dead letters of single rows that ClickHouse refused, by the position of the row. The
 * reconciliation counts these rows as dead.
 */
export type SinkDeadLetters = ReadonlyMap<string, string>;

/** Bounds memory; more dead letters mean a broken table, not broken rows. */
const MAX_DEAD_LETTERS = 500_000;
const MINUTE = 60_000;

/** The events that have a dead letter of the sink. */
export function withDeadLetter(
  deadLetters: SinkDeadLetters,
  events: readonly SourceEvent[],
): { letter: string; event: SourceEvent }[] {
  return events.flatMap((event) => {
    const letter = deadLetters.get(positionOf(event.partition, event.at));
    return letter === undefined ? [] : [{ letter, event }];
  });
}

/**
 * Updates the index of dead letters and reads those of the sink. Rejects when a server does not
 * answer or there are too many.
 */
export async function readSinkDeadLetters(
  connections: Connections,
  signal: AbortSignal,
): Promise<SinkDeadLetters> {
  const { settings, database } = connections;
  const reader = new RangeReader({
    settings: settings,
    clientId: 'ravand-replay',
    profile: 'interactive',
  });
  try {
    while (!(await indexDeadLetters({ operator: connections, database, reader })))
      signal.throwIfAborted();
    const { rows } = await database.query<{
      letter: string;
      dead_partition: number;
      dead_offset: number;
    }>(
      `SELECT letter, dead_partition, dead_offset::float8 FROM dead_letters WHERE stage = 'project' AND item IS NOT NULL AND state IN ('dead', 'discarded') LIMIT ${MAX_DEAD_LETTERS + 1}`,
    );
    if (rows.length > MAX_DEAD_LETTERS)
      throw new Error(
        `more than ${MAX_DEAD_LETTERS} rows are dead letters of the sink: redrive them first (./ravand dlq), which stores the same rows`,
      );
    const wanted = new Map(rows.map(({ letter }) => [keyOfIndexKey(letter), letter]));
    const deadLetters = new Map<string, string>();
    for (const [partition, own] of Map.groupBy(rows, ({ dead_partition }) => dead_partition)) {
      const offsets = own.map(({ dead_offset }) => dead_offset);
      const span = {
        from: offsets.reduce((a, b) => Math.min(a, b)),
        to: offsets.reduce((a, b) => Math.max(a, b)) + 1,
      };
      await readPositions({ connections, reader, partition, ...span, wanted, deadLetters, signal });
    }
    return deadLetters;
  } finally {
    await reader.close();
  }
}

interface ReadOptions {
  connections: Connections;
  reader: RangeReader;
  partition: number;
  from: number;
  to: number;
  /** Key in the table, by key in events.dead. */
  wanted: ReadonlyMap<string, string>;
  deadLetters: Map<string, string>;
  signal: AbortSignal;
}

async function readPositions({
  connections,
  reader,
  partition,
  from,
  to,
  wanted,
  deadLetters,
  signal,
}: ReadOptions): Promise<void> {
  const range = { topic: TOPIC.dead, partition, from, to };
  for await (const messages of readRange({
    settings: connections.settings,
    clientId: 'ravand-replay',
    range,
    signal,
  })) {
    for (const { value } of messages) {
      const deadLetter = decodeDeadLetter(value);
      const key = deadLetter && wanted.get(deadLetterKey(deadLetter));
      if (!deadLetter || key === undefined) continue;
      const bytes = await failedBytes(reader, deadLetter);
      const found = bytes && rowsOfDeadLetter(deadLetter, bytes);
      if (found === undefined || typeof found === 'string') continue;
      for (const { position } of found.rows)
        deadLetters.set(positionOf(found.partition, position), key);
    }
  }
}

function positionOf(partition: number, at: { offset: number; index: number }): string {
  return `${partition} ${eventOffsetKey(at)}`;
}

/**
 * Marks the rows of these dead letters as stored, as `./ravand dlq redrive` does
 * (dlq/store-rows.ts): the dead letter, the reconciliation and the meter of accepted events in one
 * statement. A dead letter that was redriven before changes nothing: idempotent.
 */
export async function markRedriven(
  database: Pick<Database, 'query'>,
  redriven: readonly { letter: string; event: SourceEvent }[],
): Promise<void> {
  if (redriven.length === 0) return;
  await database.query(
    `WITH done AS (
       UPDATE dead_letters SET state = 'redriven', redriven_to = NULL, changed_at = now()
       FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::text[]) AS r (letter, account_id, minute, month)
       WHERE dead_letters.letter = r.letter AND state IN ('dead', 'discarded') RETURNING r.account_id, r.minute, r.month
     ), revived AS (
       SELECT account_id, minute, month, count(*) AS events FROM done GROUP BY account_id, minute, month
     ), booked AS (
       INSERT INTO books (account_id, minute, dead) SELECT account_id, minute, -events FROM revived
       ON CONFLICT (account_id, minute) DO UPDATE SET dead = books.dead + excluded.dead, open = true, changed_at = now()
     )
     INSERT INTO meters (account_id, meter, month, value) SELECT account_id, 'events', month, sum(events) FROM revived GROUP BY account_id, month
     ON CONFLICT (account_id, meter, month) DO UPDATE SET value = meters.value + excluded.value, updated_at = now()`,
    [
      redriven.map(({ letter }) => letter),
      redriven.map(({ event }) => event.accountId),
      redriven.map(({ event }) => new Date(Math.floor(event.receivedAt / MINUTE) * MINUTE)),
      redriven.map(({ event }) => quotaMonth(event.receivedAt).key),
    ],
  );
}
